module gusset.dev/go

go 1.26
