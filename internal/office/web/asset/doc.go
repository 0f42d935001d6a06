// Package asset is our own files for browsers: the stylesheet, the modules and the icons in static, each at an address
// that has its hash. It also compresses what is sent. It knows no page and no mail. Start at New.
package asset

//go:generate go run ./vendorjs
