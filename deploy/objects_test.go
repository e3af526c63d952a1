package deploy

// at follows the keys of nested objects; nil where there is none.
func at(of any, keys ...string) any {
	for _, key := range keys {
		if named, ok := of.(interface{ members() map[string]any }); ok {
			of = named.members()
		}
		object, ok := of.(map[string]any)
		if !ok {
			return nil
		}
		of = object[key]
	}
	return of
}
