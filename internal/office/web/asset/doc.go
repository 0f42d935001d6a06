// Package asset serves our files for browsers: the stylesheet, the modules and the icons in static, each at an
// address with its hash. It also compresses responses. It knows no page and no mail. Start at New.
package asset

//go:generate go run ./vendorjs
