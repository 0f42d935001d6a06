// Package durable makes changes to files survive a power cut.
package durable
