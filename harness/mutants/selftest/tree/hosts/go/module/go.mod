module example.org/small/module

go 1.26
