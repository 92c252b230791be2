// Package level has the Kingfisher gauge, über Nacht.
package level

func Level() int { a := 1; return a }
