module github.com/belayrun/belay

go 1.26
