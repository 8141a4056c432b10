/// The control ports of a plugin. Port 0 is `lv2:enabled`.
@safe
struct Controls: ~Copyable {
  static var capacity: Int { 82 }
  private var ports = unsafe InlineArray<82, UnsafeMutablePointer<Float>?>(repeating: nil)
  private var values = InlineArray<82, Float>(repeating: .nan)

  mutating func connect(_ index: Int, to port: UnsafeMutablePointer<Float>?) {
    unsafe ports[index] = port
  }

  /// Reads the first `count` ports. Returns whether a value has changed.
  mutating func read(_ count: Int) -> Bool {
    var isChanged = false
    for i in 0..<count {
      guard let port = unsafe ports[i] else { continue }
      let value = unsafe port.pointee
      if value.bitPattern != values[i].bitPattern {
        values[i] = value
        isChanged = true
      }
    }
    return isChanged
  }

  /// Returns the value last read, clamped to the limits, or `fallback` if it is not a number or not
  /// connected.
  mutating func value(_ index: Int, from least: Double, to most: Double, else fallback: Double)
    -> Double
  {
    let value = Double(values[index])
    return value.isNaN ? fallback : min(max(value, least), most)
  }

  mutating func isOn(_ index: Int, else fallback: Bool) -> Bool {
    values[index].isNaN ? fallback : values[index] > 0
  }

  /// Writes an output port.
  mutating func write(_ value: Double, to index: Int) {
    if let port = unsafe ports[index] { unsafe port.pointee = Float(value) }
  }
}
