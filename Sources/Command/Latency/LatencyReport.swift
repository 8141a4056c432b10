import Sessions
import System

/// The figures that `cuejack measure-latency` prints. Property names are the JSON keys.
struct LatencyReport: Encodable {
  /// A latency that JACK knows.
  struct Known: Encodable {
    let minimum: Int
    let maximum: Int

    init(_ range: ClosedRange<Int>) {
      minimum = range.lowerBound
      maximum = range.upperBound
    }

    /// The frames in words.
    var words: String { minimum == maximum ? "\(maximum)" : "\(minimum) to \(maximum)" }
  }

  let server: String
  let output: String
  let input: String
  let sampleRate: Double
  /// The median of the rounds, and the least and the greatest one.
  let roundTripFrames: Int
  let leastFrames: Int
  let greatestFrames: Int
  let roundTripMilliseconds: Double
  /// Latencies of the ports: from the output port to the card, and from the card to the input port.
  let playbackLatency: Known
  let captureLatency: Known
  /// The greatest latencies together.
  let knownFrames: Int
  /// The frames that JACK does not know of; negative if JACK counts too many.
  let systemicFrames: Int
  /// Decibels by which the noise came back louder.
  let gain: Double
  let isInverted: Bool
  /// The correlation coefficient: 1 for the noise alone.
  let coefficient: Double

  /// The report for people.
  var lines: [String] {
    func words(_ frames: Int) -> String {
      "\(frames) frames (\(formatted("%.3f", Double(frames) / sampleRate * 1000)) ms)"
    }
    let rest = max(0, systemicFrames)
    return [
      "\(output) -> \(input): server \(server), \(hertz(sampleRate))",
      "round trip: \(words(roundTripFrames))",
      "JACK knows: \(words(knownFrames)): \(playbackLatency.words) of playback, \(captureLatency.words) of capture",
      "the rest:   \(words(systemicFrames)), for jackd -I \(rest / 2) -O \(rest - rest / 2)",
      "level:      \(formatted("%+.1f", gain)) dB\(isInverted ? ", inverted" : "")",
    ]
  }
}
