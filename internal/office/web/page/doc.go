// Package page is what every page is made of: a View is one request of the person, and answers it with a template.
// Here is what several rooms of the house share: the frame around a page, forms, toasts, addresses of pages, a message
// on a page, lists. It knows no single page; those bring their routes and templates as a Part. Start at View.
package page
