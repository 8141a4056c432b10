import Foundation
import Server
import SessionSupport
import TestSupport
import Testing

@testable import Sessions

/// A session on a hand-driven server, whose cycles have 256 frames.
final class SessionRig {
  static let period = 256
  let server: HandDrivenServer
  let engine: SessionEngine
  private let messages: Messages

  init(
    _ document: SessionDocument, in folder: URL, sampleRate: Double = 48000,
    otherInputs: [String] = [], card: [String] = []
  ) throws {
    server = HandDrivenServer(sampleRate: sampleRate, maximumFrames: 1024)
    server.periodFrames = Self.period
    server.physicalOutputs = card
    server.otherInputs = otherInputs
    let messages = Messages()
    self.messages = messages
    engine = try SessionEngine(
      document, in: try SessionFolder(opening: folder.path), on: server,
      SessionEngine.Options(clientName: "session", onMessage: { messages.add($0) }))
  }

  deinit { engine.close() }

  var lines: [String] { messages.lines }

  /// Runs cycles up to a device frame, a multiple of the period. Every edit of the graph is followed up.
  func run(to frame: Int64) {
    while Int64(server.counter) < frame {
      server.cycle(frames: Self.period)
      _ = engine.session.graph.service()
    }
  }

  /// Runs cycles until the graph has taken all edits, and faders have reached their gains.
  func settle() {
    run(to: Int64(server.counter) + Int64(3 * Self.period))
    for _ in 0..<200 where !engine.session.graph.isSettled {
      run(to: Int64(server.counter) + Int64(Self.period))
    }
  }

  /// The output of a port since it was registered.
  func samples(of port: String) -> [Float] {
    server.clients[0].outputs.first { $0.name == port && !$0.isRemoved }?.samples ?? []
  }

  /// The output of a port in a range of device frames.
  func samples(of port: String, _ frames: Range<Int>) -> [Float] {
    let all = samples(of: port)
    guard frames.upperBound <= all.count else {
      Issue.record("\(port) has \(all.count) frames, not \(frames)")
      return []
    }
    return Array(all[frames])
  }
}
