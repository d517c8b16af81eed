module gusset.dev/go/cases

go 1.26

require gusset.dev/go v0.0.0

replace gusset.dev/go => ../
