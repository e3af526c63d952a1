package jobs

func ref[T any](value T) *T { return &value }

// valueOr is the value a pointer holds, or the fallback for nil.
func valueOr[T any](value *T, fallback T) T {
	if value == nil {
		return fallback
	}
	return *value
}
