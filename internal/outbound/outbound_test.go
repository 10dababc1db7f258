package outbound_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/belayrun/belay/internal/outbound"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// names is a resolver that answers every A question with the next of its
// addresses, the last one for good.
func names(t *testing.T, addrs ...string) *net.Resolver {
	t.Helper()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for buf := make([]byte, 512); ; {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			if a := answer(buf[:n], addrs[0]); a != nil {
				if a[7] == 1 && len(addrs) > 1 {
					addrs = addrs[1:]
				}
				_, _ = pc.WriteTo(a, from)
			}
		}
	}()
	t.Cleanup(func() { _ = pc.Close(); <-done })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", pc.LocalAddr().String())
	}}
}

// answer is a DNS answer to a question: its one A record, none for other types.
func answer(q []byte, addr string) []byte {
	end := 12
	for end < len(q) && q[end] != 0 {
		end += int(q[end]) + 1
	}
	if end+5 > len(q) {
		return nil
	}
	qtype := q[end+2]
	out := append([]byte{q[0], q[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, q[12:end+5]...)
	if qtype == 1 {
		out[7] = 1
		out = append(out, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
		out = append(out, net.ParseIP(addr).To4()...)
	}
	return out
}

func guard(t *testing.T, c outbound.Config) *outbound.Guard {
	t.Helper()
	g, err := outbound.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Transport().CloseIdleConnections)
	return g
}

// get fetches u and closes the body.
func get(t *testing.T, c *http.Client, u string, header ...string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, u, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := c.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return string(b), err
}

// counting is a server that counts its requests and answers with handler.
func counting(t *testing.T, handler http.HandlerFunc) (*httptest.Server, *atomic.Int32) {
	t.Helper()
	n := new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		handler(w, r)
	}))
	t.Cleanup(s.Close)
	return s, n
}

func ok(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "reached") }

func port(t *testing.T, s *httptest.Server) string {
	t.Helper()
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u.Port()
}

func TestAddressesThatAreNotPublicAreRefused(t *testing.T) {
	t.Parallel()
	g := guard(t, outbound.Config{DialTimeout: time.Second})
	for _, host := range []string{
		"127.0.0.1", "127.9.9.9", "0.0.0.0", "0.1.2.3", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1",
		"169.254.169.254", "100.64.0.1", "100.100.100.200", "168.63.129.16", "192.0.0.192", "198.18.0.1",
		"224.0.0.1", "255.255.255.255", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:a9fe:a9fe]", "[::127.0.0.1]",
		"[fd00:ec2::254]", "[fe80::1]", "[ff02::1]", "[64:ff9b::7f00:1]", "[64:ff9b::10.0.0.1]", "[64:ff9b:1::1]",
		"[2002:7f00:1::]", "[2001:0:1::]", "[2001:db8::1]", "[fec0::1]",
		"2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "127.1", "017700000001",
	} {
		u := "http://" + host + ":9/"
		if err := g.CheckURL(t.Context(), u); !errors.Is(err, outbound.ErrRefused) {
			t.Errorf("CheckURL(%s) = %v", u, err)
		}
		if _, err := get(t, g.Client(0), u); !errors.Is(err, outbound.ErrRefused) {
			t.Errorf("GET %s: %v", u, err)
		}
	}
}

func TestPublicAddressesPass(t *testing.T) {
	t.Parallel()
	g := guard(t, outbound.Config{})
	for _, host := range []string{"8.8.8.8", "172.32.0.1", "100.128.0.1", "[2606:4700::1111]", "[64:ff9b::808:808]", "[::ffff:8.8.8.8]"} {
		if err := g.CheckURL(t.Context(), "https://"+host+"/x"); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
}

func TestOnlyHTTPIsAURL(t *testing.T) {
	t.Parallel()
	g := guard(t, outbound.Config{Allow: []string{"127.0.0.0/8"}})
	for _, u := range []string{"file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1/", "127.0.0.1", "http://", "http://%zz/"} {
		if err := g.CheckURL(t.Context(), u); err == nil || errors.Is(err, outbound.ErrRefused) {
			t.Errorf("CheckURL(%s) = %v", u, err)
		}
	}
	if _, err := get(t, g.Client(0), "ftp://127.0.0.1/"); err == nil {
		t.Error("ftp was fetched")
	}
}

func TestANameThatChangesItsAddressIsRefusedAtTheConnection(t *testing.T) {
	t.Parallel()
	s, n := counting(t, ok)
	g := guard(t, outbound.Config{Resolver: names(t, "8.8.8.8", "127.0.0.1")})
	u := "http://rebind.example.com:" + port(t, s) + "/"
	if err := g.CheckURL(t.Context(), u); err != nil {
		t.Fatalf("the public answer was refused: %v", err)
	}
	_, err := get(t, g.Client(5*time.Second), u)
	if !errors.Is(err, outbound.ErrRefused) || !strings.Contains(err.Error(), "loopback") || strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("err = %v", err)
	}
	if n.Load() != 0 {
		t.Error("the server was reached")
	}
}

func TestARedirectToARefusedAddressIsRefused(t *testing.T) {
	t.Parallel()
	for _, to := range []string{"http://169.254.169.254/latest/meta-data/", "http://[::ffff:169.254.169.254]/", "http://2852039166/", "http://10.0.0.1/", "file:///etc/passwd"} {
		s, _ := counting(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) })
		g := guard(t, outbound.Config{Allow: []string{"127.0.0.1/32"}, DialTimeout: time.Second})
		if got, err := get(t, g.Client(5*time.Second), s.URL); err == nil {
			t.Errorf("%s: %q", to, got)
		} else if strings.HasPrefix(to, "http") && !errors.Is(err, outbound.ErrRefused) {
			t.Errorf("%s: %v", to, err)
		}
	}
}

func TestWhatIsAllowedIsReached(t *testing.T) {
	t.Parallel()
	s, _ := counting(t, ok)
	for name, tc := range map[string]struct {
		allow, host string
		reached     bool
	}{
		"the address":           {"127.0.0.1", "127.0.0.1", true},
		"its CIDR":              {"127.0.0.0/8", "127.0.0.1", true},
		"its mapped form":       {"127.0.0.0/8", "[::ffff:127.0.0.1]", true},
		"a name by CIDR":        {"127.0.0.0/8", "inside.example.com", true},
		"a name":                {"inside.example.com", "inside.example.com", true},
		"a name otherwise":      {"Inside.Example.com.", "inside.example.COM", true},
		"another name":          {"inside.example.com", "other.example.com", false},
		"a name below it":       {"example.com", "inside.example.com", false},
		"its address by name":   {"inside.example.com", "127.0.0.1", false},
		"another CIDR":          {"10.0.0.0/8", "127.0.0.1", false},
		"a number for the same": {"127.0.0.0/8", "2130706433", false},
	} {
		g := guard(t, outbound.Config{Allow: []string{tc.allow}, Resolver: names(t, "127.0.0.1")})
		got, err := get(t, g.Client(5*time.Second), "http://"+tc.host+":"+port(t, s)+"/")
		if tc.reached != (got == "reached") || !tc.reached && !errors.Is(err, outbound.ErrRefused) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestAnAllowListWithAMistakeIsRefused(t *testing.T) {
	t.Parallel()
	for _, entry := range []string{"", "http://x", "10.0.0.0/33", "a:80", "*.example.com", "127.1", "0x7f"} {
		if _, err := outbound.New(outbound.Config{Allow: []string{entry}}); err == nil {
			t.Errorf("%q was taken", entry)
		}
	}
}

func TestARedirectToAnotherOriginCarriesNoProofOfWhoAsks(t *testing.T) {
	t.Parallel()
	var last http.Header
	end, _ := counting(t, func(_ http.ResponseWriter, r *http.Request) { last = r.Header.Clone() })
	var back string
	start, _ := counting(t, func(w http.ResponseWriter, r *http.Request) {
		last = r.Header.Clone()
		switch r.URL.Path {
		case "/same":
			http.Redirect(w, r, "/end", http.StatusTemporaryRedirect)
		case "/away":
			http.Redirect(w, r, end.URL, http.StatusTemporaryRedirect)
		case "/round":
			http.Redirect(w, r, back, http.StatusTemporaryRedirect)
		}
	})
	mirror, _ := counting(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, start.URL+"/end", http.StatusTemporaryRedirect)
	})
	back = mirror.URL
	g := guard(t, outbound.Config{Allow: []string{"127.0.0.1"}})
	for path, carried := range map[string]bool{"/same": true, "/away": false, "/round": false} {
		_, err := get(t, g.Client(5*time.Second), start.URL+path, "Authorization", "Bearer canary", "X-Api-Key", "canary", "Cookie", "a=canary", "Accept", "text/plain")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"Authorization", "X-Api-Key", "Cookie"} {
			if (last.Get(name) != "") != carried {
				t.Errorf("%s: %s = %q", path, name, last.Get(name))
			}
		}
		if last.Get("Accept") != "text/plain" {
			t.Errorf("%s: Accept = %q", path, last.Get("Accept"))
		}
	}
}

func TestRedirectsEndAfterFive(t *testing.T) {
	t.Parallel()
	s, n := counting(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path+"x", http.StatusFound) })
	g := guard(t, outbound.Config{Allow: []string{"127.0.0.1"}})
	if _, err := get(t, g.Client(5*time.Second), s.URL+"/"); err == nil || n.Load() != 6 {
		t.Errorf("%d requests, %v", n.Load(), err)
	}
}

func TestHeadersWithoutEndAreRefused(t *testing.T) {
	t.Parallel()
	s, _ := counting(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Flood", strings.Repeat("x", 1<<20)) })
	g := guard(t, outbound.Config{Allow: []string{"127.0.0.1"}})
	if _, err := get(t, g.Client(5*time.Second), s.URL); err == nil {
		t.Error("1 MiB of headers was read")
	}
}

func TestAProxyOfTheEnvironmentIsNotUsed(t *testing.T) {
	s, _ := counting(t, ok)
	t.Setenv("HTTP_PROXY", s.URL)
	g := guard(t, outbound.Config{Resolver: names(t, "10.0.0.1")})
	if _, err := get(t, g.Client(5*time.Second), "http://inside.example.com/"); !errors.Is(err, outbound.ErrRefused) {
		t.Errorf("err = %v", err)
	}
}
