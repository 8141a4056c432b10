import AudioToolbox
import Foundation
import TestSupport
import Testing

/// A server, and a capture client in place of its sound card.
struct Studio {
  let jack: JackDaemon
  let card: CaptureClient
  /// UID of the server.
  var device: String { "jack:\(jack.name)" }

  init() throws {
    jack = try JackDaemon(period: 4096, playbackPorts: 0)
    card = try CaptureClient(on: jack, name: "card", capacity: 20 * jack.rate, isSoundCard: true)
    card.arm()
  }

  /// Returns the captured frames from the first to the last that is not silent.
  func heard(channels: Int = 1) -> [[Float]] {
    card.disarm()
    let all = (0..<channels).map { card.samples(channel: $0) }
    guard let first = all[0].firstIndex(where: { $0 != 0 }),
      let last = all[0].lastIndex(where: { $0 != 0 })
    else { return all.map { _ in [] } }
    return all.map { Array($0[first...last]) }
  }

  /// Waits until `cycles` more cycles have run.
  func wait(cycles: Int) {
    expectTrue(card.wait(untilFrames: card.capturedFrames + cycles * jack.period))
  }

  /// Connects the two output ports of one queue to the inputs of another.
  func feed(_ player: PlaybackQueue, _ recorder: RecordingQueue) throws {
    let names = try [player.value(of: .device), recorder.value(of: .device)].map {
      $0.split(separator: "/").last ?? ""
    }
    for channel in 1...2 {
      try card.connect("\(names[0]):out_\(channel)", to: "\(names[1]):in_\(channel)")
    }
  }
}
