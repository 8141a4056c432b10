import Foundation

/// Says how channels differ from the expected ones, and at which frame first; nil if they are equal.
package func difference(_ found: [[Float]], _ expected: [[Float]]) -> String? {
  guard found.count == expected.count else {
    return "\(found.count) channels instead of \(expected.count)"
  }
  for (channel, (found, expected)) in zip(found, expected).enumerated() where found != expected {
    let wrong = zip(found, expected).enumerated().filter { $1.0 != $1.1 }
    var words = "channel \(channel): \(found.count) frames, expected \(expected.count)"
    if let (frame, (heard, wanted)) = wrong.first {
      words += "; \(wrong.count) differ, the first is \(frame): \(heard) instead of \(wanted)"
      words += ", the last is \(wrong.last!.offset)"
    }
    return words
  }
  return nil
}

/// Says how a recording differs from silence, the expected sound once, and silence; nil if it does
/// not.
package func difference(heard recording: PeerRecording, _ expected: [[Float]]) -> String? {
  for (cycle, next) in zip(recording.cycles, recording.cycles.dropFirst())
  where next.counter != cycle.counter &+ UInt32(next.frame - cycle.frame) {
    return "the server left out frames before frame \(next.frame)"
  }
  return difference(surrounded: recording.samples, expected)
}

/// Says how channels differ from silence, the expected sound once, and silence; nil if they do not.
package func difference(surrounded channels: [[Float]], _ expected: [[Float]]) -> String? {
  func edges(_ channels: [[Float]]) -> (first: Int, last: Int)? {
    let first = channels.compactMap { $0.firstIndex { $0 != 0 } }.min()
    let last = channels.compactMap { $0.lastIndex { $0 != 0 } }.max()
    return first.flatMap { first in last.map { (first, $0) } }
  }
  guard let sound = edges(channels) else { return "only silence in \(channels[0].count) frames" }
  guard let wanted = edges(expected) else { return "the expected sound is silence" }
  let found = channels.map { Array($0[sound.first...sound.last]) }
  let core = expected.map { Array($0[wanted.first...wanted.last]) }
  return difference(found, core).map {
    "in \(channels[0].count) frames, from \(sound.first) to \(sound.last): \($0)"
  }
}

/// Returns how many values differ from a pattern that is repeated from its beginning.
///
/// It compares memory and looks at single values only where that differs: a loop over minutes of sound takes
/// seconds in a debug build.
package func differences<Value: BitwiseCopyable & Equatable>(
  _ found: ArraySlice<Value>, repeating pattern: [Value]
) -> Int {
  found.withUnsafeBytes { found in
    pattern.withUnsafeBytes { pattern in
      var wrong = 0
      for start in stride(from: 0, to: found.count, by: pattern.count) {
        let count = min(pattern.count, found.count - start)
        let piece = UnsafeRawBufferPointer(rebasing: found[start..<start + count])
        if memcmp(piece.baseAddress!, pattern.baseAddress!, count) == 0 { continue }
        wrong += zip(piece.bindMemory(to: Value.self), pattern.bindMemory(to: Value.self))
          .count { $0 != $1 }
      }
      return wrong
    }
  }
}
