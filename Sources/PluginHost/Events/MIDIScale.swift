import Glibc

/// The mapping of a controller's 128 positions to values of the target.
struct MIDIScale: Equatable {
  enum Shape: Equatable {
    case linear, logarithmic
    case integer(isLogarithmic: Bool)
    /// Positions 0 to 63 give `low`, the others `high`.
    case toggle
    /// Divides the positions evenly among the values, in this order.
    case points([Float])
  }
  let shape: Shape
  let low, high: Float

  var values: [Float] { (0..<128).map(value) }

  private func value(_ data: Int) -> Float {
    switch shape {
    case .linear: return between(data)
    case .logarithmic: return betweenLogarithms(data)
    case .integer(let isLogarithmic):
      return (isLogarithmic ? betweenLogarithms(data) : between(data)).rounded()
    case .toggle: return data < 64 ? low : high
    case .points(let points): return points[data * points.count / 128]
    }
  }

  private func between(_ data: Int) -> Float {
    data == 127 ? high : low + (high - low) * (Float(data) / 127)
  }

  private func betweenLogarithms(_ data: Int) -> Float {
    if data == 0 { return low }
    return data == 127 ? high : Float(Double(low) * ratio(Double(data) / 127))
  }

  private func ratio(_ part: Double) -> Double { pow(Double(high) / Double(low), part) }
}
