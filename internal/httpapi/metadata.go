package httpapi

// CheckMetadata says whether a caller's notes are few and short enough to be
// kept, as OpenAI has it.
func CheckMetadata(m map[string]string) error {
	if len(m) > 16 {
		return Invalid("metadata", "must have 16 entries at most")
	}
	for k, v := range m {
		if k == "" || len(k) > 64 || len(v) > 512 {
			return Invalid("metadata", "must have names of 1 to 64 bytes and values of 512 bytes at most")
		}
	}
	return nil
}
