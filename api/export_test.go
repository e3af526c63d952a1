package api

// Routes are "METHOD /address" of everything that the server answers, with Fiber's own spelling of parameters.
func (s *Server) Routes() []string {
	var all []string
	for _, route := range s.app.GetRoutes(true) {
		all = append(all, route.Method+" "+route.Path)
	}
	return all
}

// StatusOf is the status of every code.
var StatusOf = statusOf
