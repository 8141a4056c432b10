import Foundation
import TestSupport
import Testing

/// Tests of the PipeWire daemon that the other tests of this module use.
@Suite(.tags(.pipeWire), .serialized) struct DaemonTests {
  @Test func aClientOpensAndTheSinkHearsIt() throws {
    let daemon = try PipeWireDaemon()
    let capture = try JackPeer.capture(on: daemon)
    let emitter = try JackPeer.numbers(to: daemon.inputs, on: daemon)
    let links = try daemon.links()
    expectEqual(links["emitter:out_1"], ["test-sink:playback_FL"], "\(links)")
    expectEqual(links["test-sink:monitor_FR"], ["capture:in_2"], "\(links)")
    usleep(300_000)
    let recording = try capture.end()
    withExtendedLifetime(emitter) {}
    let heard = recording.samples.map { $0.drop { $0 == 0 } }
    try require(heard[0].count > 1024)
    for (channel, samples) in heard.enumerated() {
      // Each channel is connected separately, maybe a cycle later than the other.
      let first = try UInt32(
        require(samples.first) - Emitter.sample(at: 0, channel: channel))
      let wrong = samples.enumerated().first {
        $1 != Emitter.sample(at: first &+ UInt32($0), channel: channel)
      }
      expectNil(wrong, "channel \(channel)")
    }
  }

  @Test func aKilledDaemonStartsAgain() throws {
    let daemon = try PipeWireDaemon(rate: 44100, quantum: 256)
    daemon.kill()
    try daemon.start()
    _ = try JackPeer.silence(on: daemon)
  }
}
