import Glibc

/// An instant by a clock that several machines share: UTC, or TAI. Any thread.
///
/// Its text is a date and time of ISO 8601 with up to nine fractional digits and a zone:
/// `2026-11-28T22:15:00.25Z`, `2026-11-28T23:15:00.25+01:00`. In place of the zone stands `TAI` for
/// International Atomic Time, which knows no leap seconds: `2026-11-28T22:15:37.25TAI`.
package struct WallTime: Equatable, Sendable {
  /// The text as it was written.
  package let text: String
  /// Seconds since 1970-01-01T00:00:00 of the scale, without leap seconds, and nanoseconds of the second.
  private let seconds: Int64
  private let nanoseconds: Int64
  package let isTAI: Bool

  package static let form =
    "a date and time of ISO 8601 with a zone, such as 2026-11-28T22:15:00.25Z, …+01:00 or …TAI"

  /// Creates the instant of a text; nil if it is none.
  package init?(_ text: String) {
    var rest = text.utf8[...]
    func skip(_ byte: Character) -> Bool {
      guard let first = rest.first, first == byte.asciiValue else { return false }
      rest = rest.dropFirst()
      return true
    }
    func number(_ digits: Int, _ range: ClosedRange<Int32>) -> Int32? {
      let word = rest.prefix(digits)
      guard word.count == digits, word.allSatisfy({ (0x30...0x39).contains($0) }),
        let value = Int32(String(Substring(word))), range.contains(value)
      else { return nil }
      rest = rest.dropFirst(digits)
      return value
    }
    var fields = unsafe tm()
    guard let year = number(4, 1970...2199), skip("-"), let month = number(2, 1...12), skip("-"),
      let day = number(2, 1...31), skip("T"), let hour = number(2, 0...23), skip(":"),
      let minute = number(2, 0...59), skip(":"), let second = number(2, 0...59)
    else { return nil }
    unsafe fields.tm_year = year - 1900
    unsafe fields.tm_mon = month - 1
    unsafe (fields.tm_mday, fields.tm_hour, fields.tm_min, fields.tm_sec) =
      (day, hour, minute, second)
    var seconds = Int64(unsafe timegm(&fields))
    // A day that the month does not have becomes one of the next month.
    guard unsafe fields.tm_mday == day else { return nil }
    var nanoseconds: Int64 = 0
    if skip(".") {
      let digits = rest.prefix { (0x30...0x39).contains($0) }
      guard (1...9).contains(digits.count), let value = Int64(String(Substring(digits))) else {
        return nil
      }
      nanoseconds = (digits.count..<9).reduce(value) { value, _ in value * 10 }
      rest = rest.dropFirst(digits.count)
    }
    switch String(Substring(rest)) {
    case "Z": isTAI = false
    case "TAI": isTAI = true
    default:
      let isEast = skip("+")
      guard isEast || skip("-"), let hours = number(2, 0...23), skip(":"),
        let minutes = number(2, 0...59), rest.isEmpty
      else { return nil }
      seconds -= Int64(hours * 60 + minutes) * (isEast ? 60 : -60)
      isTAI = false
    }
    self.text = text
    self.seconds = seconds
    self.nanoseconds = nanoseconds
  }

  /// Nanoseconds since 1970 in UTC without leap seconds, as CLOCK_REALTIME counts.
  ///
  /// - Parameter offset: Seconds by which TAI is ahead of UTC.
  package func nanosecondsOfUTC(taiOffset offset: Int) -> Int64 {
    (seconds - (isTAI ? Int64(offset) : 0)) * 1_000_000_000 + nanoseconds
  }

  /// Host time of the instant in nanoseconds, by the difference that the system's clocks have now; 0 for an
  /// instant before the host clock's origin.
  package var hostTime: UInt64 {
    let clock = WallClock.now
    let distance = nanosecondsOfUTC(taiOffset: clock.taiOffset) - clock.nanoseconds
    return UInt64(max(0, Int64(clock.hostTime) + distance))
  }
}
