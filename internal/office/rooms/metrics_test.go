package rooms

import (
	"log/slog"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/config"
)

// TestMetrics holds that each figure is documented, with its type.
func TestMetrics(t *testing.T) {
	cfg := config.Config{Home: config.Home(t.TempDir())}
	o := New(&cfg, slog.New(slog.DiscardHandler), NewMetrics(), nil)
	o.Metrics.Of(o, func() int { return 7 })
	o.Metrics.synced(3, 90, 2*time.Millisecond)
	NewMetrics().synced(1, 1, 0) // another post office has its own figures
	w := httptest.NewRecorder()
	o.Metrics.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	body := w.Body.String()
	for _, want := range []string{
		"# TYPE pennypost_sends_total counter\npennypost_sends_total 0\n",
		"# TYPE pennypost_connections gauge\npennypost_connections 7\n", "\npennypost_appended_bytes_total 90\n",
		"# TYPE pennypost_fsync_seconds histogram\n", "\npennypost_fsync_seconds_bucket{le=\"0.001\"} 0\n" +
			"pennypost_fsync_seconds_bucket{le=\"0.003\"} 1\n",
		"\npennypost_appends_per_fsync_bucket{le=\"4\"} 1\n", "\npennypost_appends_per_fsync_sum 3\n",
		"\ngo_goroutines ", "\ngo_memstats_heap_alloc_bytes ",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("/metrics lacks %q:\n%s", want, body)
		}
	}
	text, err := os.ReadFile("../../../docs/http.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := regexp.MustCompile("`(pennypost_[a-z_]+)`").FindAllStringSubmatch(string(text), -1)
	var names []string
	for _, m := range documented {
		names = append(names, m[1])
	}
	told := o.Metrics.set.ListMetricNames()
	slices.Sort(names)
	slices.Sort(told)
	if diff := cmp.Diff(told, names); diff != "" {
		t.Errorf("docs/http.md has other figures (-told +documented):\n%s", diff)
	}
}
