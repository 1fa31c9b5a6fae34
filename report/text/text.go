// Package text is what boxer does to words before people see them: text that tests wrote is made harmless and cut to a
// width, and counts and times are written as people read them.
//
// It is a leaf and touches nothing. It never decides what is shown, nor where.
//
// The choice a reader would question: harmless text is made by dropping and by making visible, never by refusing. A
// test whose name clears the screen has failed all the same, and has to be told.
package text
