type Kingfisher struct {
	Station string  `json:"station"`
	Level   float64 `json:"level"`
}
