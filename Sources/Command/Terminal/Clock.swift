import Glibc
import Timeline

/// Formats numbers as `printf` does; at most 63 bytes.
func formatted(_ format: String, _ numbers: any CVarArg...) -> String {
  unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { text in
    guard let first = text.baseAddress else { return "" }
    _ = unsafe withVaList(numbers) { unsafe vsnprintf(first, text.count, format, $0) }
    return unsafe String(cString: first)
  }
}

/// Formats a number with one decimal.
func decimal(_ value: Double) -> String { formatted("%.1f", tenths(value)) }

/// Rounds to one decimal. Adding 0 turns -0 into 0.
func tenths(_ value: Double) -> Double { (value * 10).rounded() / 10 + 0 }

/// Rounds to two decimals.
func hundredths(_ value: Double) -> Double { (value * 100).rounded() / 100 + 0 }

/// Formats minutes and seconds; negative before the start.
func clock(_ seconds: Double) -> String {
  let whole = Int(held: abs(seconds.rounded(.down)))
  let sign = seconds < 0 ? "-" : ""
  return whole < 3600
    ? sign + formatted("%ld:%02ld", whole / 60, whole % 60)
    : sign + formatted("%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60)
}

/// Formats a size in a suitable unit, such as "12.3 MB".
func byteCount(_ bytes: Int64) -> String {
  if bytes < 1000 { return "\(bytes) bytes" }
  var value = Double(bytes) / 1000
  for unit in ["kB", "MB", "GB"] {
    if value < 1000 { return "\(formatted("%.1f", value)) \(unit)" }
    value /= 1000
  }
  return formatted("%.1f TB", value)
}
