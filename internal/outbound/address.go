package outbound

import "net/netip"

// special are addresses that are not, or not only, the public internet's.
var special = []struct {
	prefix netip.Prefix
	why    string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "it means this host"},
	{netip.MustParsePrefix("127.0.0.0/8"), "it is a loopback address"},
	{netip.MustParsePrefix("10.0.0.0/8"), "it is a private address"},
	{netip.MustParsePrefix("172.16.0.0/12"), "it is a private address"},
	{netip.MustParsePrefix("192.168.0.0/16"), "it is a private address"},
	{netip.MustParsePrefix("100.64.0.0/10"), "it is a carrier's private address"},
	{netip.MustParsePrefix("169.254.0.0/16"), "it is a link-local address"},
	{netip.MustParsePrefix("168.63.129.16/32"), "it is a cloud's metadata address"},
	{netip.MustParsePrefix("192.0.0.0/24"), "it is a reserved address"},
	{netip.MustParsePrefix("192.0.2.0/24"), "it is a reserved address"},
	{netip.MustParsePrefix("192.88.99.0/24"), "it is a reserved address"},
	{netip.MustParsePrefix("198.18.0.0/15"), "it is a reserved address"},
	{netip.MustParsePrefix("198.51.100.0/24"), "it is a reserved address"},
	{netip.MustParsePrefix("203.0.113.0/24"), "it is a reserved address"},
	{netip.MustParsePrefix("224.0.0.0/4"), "it is a multicast address"},
	{netip.MustParsePrefix("240.0.0.0/4"), "it is a reserved address"},
	{netip.MustParsePrefix("::1/128"), "it is a loopback address"},
	{netip.MustParsePrefix("fc00::/7"), "it is a private address"},
	{netip.MustParsePrefix("fe80::/10"), "it is a link-local address"},
	{netip.MustParsePrefix("ff00::/8"), "it is a multicast address"},
	{netip.MustParsePrefix("2001::/23"), "it is a reserved address"}, // Teredo, ORCHID
	{netip.MustParsePrefix("2001:db8::/32"), "it is a reserved address"},
	{netip.MustParsePrefix("2002::/16"), "it stands for an IPv4 address"}, // 6to4
	{netip.MustParsePrefix("3fff::/20"), "it is a reserved address"},
}

var (
	nat64     = netip.MustParsePrefix("64:ff9b::/96")
	globalV6  = netip.MustParsePrefix("2000::/3")
	nat64Size = 12 // bytes before the IPv4 address in one of nat64
)

// refusedAs returns why an address, unmapped and without a zone, may not be
// reached; empty: it is public. IPv6 is refused unless it is known to be public.
func refusedAs(a netip.Addr) string {
	if nat64.Contains(a) {
		b := a.As16()
		v4, _ := netip.AddrFromSlice(b[nat64Size:])
		return refusedAs(v4)
	}
	for _, s := range special {
		if s.prefix.Contains(a) {
			return s.why
		}
	}
	if a.Is6() && !globalV6.Contains(a) || !a.IsValid() {
		return "it is no public address"
	}
	return ""
}
