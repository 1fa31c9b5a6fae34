package page

import (
	"net/url"
	"path"
	"slices"
	"strings"
)

var imageTypes = []string{".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg", ".bmp"}

const maxPath = 4096 // no file has a longer one

// link is a file beside the page. Without a Href only its name is shown.
type link struct {
	Name, Href string
	Image      bool
}

func linkTo(name string) link {
	l := link{Name: label(name), Href: href(name)}
	l.Image = l.Href != "" && slices.Contains(imageTypes, strings.ToLower(path.Ext(name)))
	return l
}

// href makes a relative address of the name of a file that lies beside the page, and "" of anything else. No part of a
// name can be taken for a scheme, a host or a query.
func href(name string) string {
	if name == "" || strings.HasPrefix(name, "/") || len(name) > maxPath {
		return ""
	}
	parts := strings.Split(name, "/")
	for i, p := range parts {
		if p == ".." {
			return ""
		}
		parts[i] = url.PathEscape(p)
	}
	return "./" + strings.Join(parts, "/")
}
