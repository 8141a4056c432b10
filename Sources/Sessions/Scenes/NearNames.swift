import System

/// Questions whether another name was meant, for as many faults as are listed: to compare each of many names with each
/// other one takes long.
struct NearNames {
  private var left = SessionFaults.most

  mutating func question(_ name: String, in names: @autoclosure () -> [String]) -> String {
    if left == 0 { return "" }
    left -= 1
    return NearWords.question(name, in: names())
  }
}
