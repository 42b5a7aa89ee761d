package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// decode converts data to ordinary Go values: integers become int, other numbers float64, and {"$type": T, "value": V} becomes a value
// of another type.
func decode(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return convert(value)
}

func convert(value any) (any, error) {
	switch value := value.(type) {
	case json.Number:
		if strings.ContainsAny(value.String(), ".eE") {
			return strconv.ParseFloat(value.String(), 64)
		}
		return strconv.Atoi(value.String())
	case []any:
		items := make([]any, len(value))
		for i, item := range value {
			converted, err := convert(item)
			if err != nil {
				return nil, err
			}
			items[i] = converted
		}
		return items, nil
	case map[string]any:
		if name, ok := value["$type"].(string); ok {
			return typed(name, value["value"])
		}
		entries := make(map[string]any, len(value))
		for key, item := range value {
			converted, err := convert(item)
			if err != nil {
				return nil, err
			}
			entries[key] = converted
		}
		return entries, nil
	}
	return value, nil
}

func typed(name string, value any) (any, error) {
	text := fmt.Sprint(value)
	signed := func(bits int) int64 { n, _ := strconv.ParseInt(text, 10, bits); return n }
	unsigned := func(bits int) uint64 { n, _ := strconv.ParseUint(text, 10, bits); return n }
	switch name {
	case "int":
		return int(signed(64)), nil
	case "int8":
		return int8(signed(8)), nil
	case "int16":
		return int16(signed(16)), nil
	case "int32":
		return int32(signed(32)), nil
	case "int64":
		return signed(64), nil
	case "uint":
		return uint(unsigned(64)), nil
	case "uint8":
		return uint8(unsigned(8)), nil
	case "uint16":
		return uint16(unsigned(16)), nil
	case "uint32":
		return uint32(unsigned(32)), nil
	case "uint64":
		return unsigned(64), nil
	case "float32":
		n, err := strconv.ParseFloat(text, 32)
		return float32(n), err
	case "float64":
		return strconv.ParseFloat(text, 64)
	case "string": // in base64, for strings that are not UTF-8
		decoded, err := base64.StdEncoding.DecodeString(text)
		return string(decoded), err
	case "[]uint8":
		if value == nil {
			return []byte(nil), nil
		}
		return base64.StdEncoding.DecodeString(text)
	case "[]string":
		return elements[string](value)
	case "[]int":
		return elements[int](value)
	case "[]float64":
		return elements[float64](value)
	case "[]interface {}":
		return elements[any](value)
	case "map[string]string":
		return entries[string](value)
	case "map[string]int":
		return entries[int](value)
	case "map[string]interface {}":
		return entries[any](value)
	}
	return nil, fmt.Errorf("oracle: no type %q", name)
}

func elements[T any](value any) ([]T, error) {
	raw, ok := value.([]any)
	if !ok {
		return nil, nil
	}
	items := make([]T, len(raw))
	for i, item := range raw {
		converted, err := convert(item)
		if err != nil {
			return nil, err
		}
		items[i], _ = converted.(T)
	}
	return items, nil
}

func entries[T any](value any) (map[string]T, error) {
	raw, ok := value.(map[string]any)
	if !ok {
		return nil, nil
	}
	items := make(map[string]T, len(raw))
	for key, item := range raw {
		converted, err := convert(item)
		if err != nil {
			return nil, err
		}
		items[key], _ = converted.(T)
	}
	return items, nil
}
