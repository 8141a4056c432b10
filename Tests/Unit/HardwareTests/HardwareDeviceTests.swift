import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Hardware
@testable import Server

/// Changes of a server, as its device tells them.
@Suite struct HardwareDeviceTests {
  /// The changes that a device has told.
  final class Changes: Sendable {
    private let list = Mutex<[HardwareChange]>([])
    var all: [HardwareChange] { list.withLock { $0 } }
    func note(_ change: HardwareChange) { list.withLock { $0.append(change) } }
    func take() -> [HardwareChange] {
      list.withLock { list in
        defer { list = [] }
        return list
      }
    }
  }

  let server = HandDrivenServer()
  let device: HardwareDevice
  let changes = Changes()

  init() {
    device = HardwareDevice(server, named: "by-hand", clientName: "io")
    device.addObserver { [changes] in changes.note($0) }
  }

  @Test("the first question opens a client, and it closes once nothing needs it")
  func opening() throws {
    expectTrue(server.clients.isEmpty && device.isAlive)
    let facts = try device.facts
    expectTrue(facts.sampleRate == 48000 && facts.periodFrames == 1024)
    expectTrue(facts.inputs == 2 && facts.outputs == 2 && server.clients.count == 1)
    device.beginUse()
    device.closeIfUnused()
    expectTrue(!server.clients[0].isClosed)
    device.endUse()
    device.closeIfUnused(for: 100)
    expectTrue(!server.clients[0].isClosed)
    device.closeIfUnused()
    expectTrue(server.clients[0].isClosed)
    expectTrue(try device.facts.outputs == 2 && server.clients.count == 2)
    device.closeIfUnused()
  }

  @Test("what is known is answered without a request")
  func knownFacts() throws {
    _ = try device.facts
    let asked = server.cardQuestions
    for _ in 0..<10 { try expectEqual(device.facts.outputs, 2) }
    expectEqual(server.cardQuestions, asked)
    server.changePeriod(to: 256)
    try expectEqual(device.facts.periodFrames, 256)
    device.closeIfUnused()
  }

  @Test("a server without a sound card has two channels in each direction")
  func noCard() throws {
    server.physicalInputs = []
    server.physicalOutputs = []
    let facts = try device.facts
    expectTrue(facts.inputs == 2 && facts.outputs == 2)
    device.closeIfUnused()
  }

  @Test("the period is kept while a function exists, and told when it changes otherwise")
  func period() throws {
    try expectEqual(device.bufferFrames, 1024)
    server.changePeriod(to: 256)
    expectTrue(waits { changes.all == [.bufferFrames, .latency] })
    try expectEqual(device.bufferFrames, 256)
    let function = WaveFunction().function
    device.add(function)
    try device.start(function)
    _ = changes.take()
    server.changePeriod(to: 512)
    server.cycle(frames: 512)
    expectTrue(try device.bufferFrames == 256 && device.addedLatency == 0)
    expectTrue(!changes.all.contains(.bufferFrames))
    device.remove(function)
    try expectEqual(device.bufferFrames, 512)
    expectTrue(waits { changes.all.contains(.bufferFrames) })
    device.closeIfUnused()
  }

  @Test("a server that goes and returns is told, and functions run again")
  func absence() throws {
    let wave = WaveFunction()
    let function = wave.function
    device.add(function)
    try device.start(function)
    server.cycle(frames: 1024)
    server.goAway()
    expectTrue(waits { !device.isAlive && changes.all.contains(.presence) })
    expectTrue(try device.facts.outputs == 2 && device.isRunning)
    _ = changes.take()
    server.comeBack(sampleRate: 44100)
    expectTrue(waits { device.isAlive && changes.all.contains(.sampleRate) })
    expectTrue(changes.all.contains(.presence))
    let calls = wave.calls.count
    let runsAgain = waits {
      server.cycle(frames: 1024)
      return wave.calls.count > calls
    }
    expectTrue(runsAgain)
    try expectEqual(device.facts.sampleRate, 44100)
    device.remove(function)
    device.closeIfUnused()
  }

  @Test("another number of channels is told")
  func channels() throws {
    _ = try device.facts
    server.physicalOutputs += ["system:playback_3", "system:playback_4"]
    server.otherInputs = ["other:in"]
    expectTrue(waits { changes.all == [.channels] })
    try expectEqual(device.facts.outputs, 4)
    device.closeIfUnused()
  }

  @Test("hog mode and volume are told once")
  func notes() {
    device.toggleHog()
    expectEqual(device.hogProcess, getpid())
    device.toggleHog()
    expectEqual(device.hogProcess, -1)
    device.setVolume(2)
    device.setVolume(0.25)
    device.setVolume(0.25)
    device.setMute(true)
    device.setMute(true)
    expectTrue(device.volume == 0.25 && device.isMute)
    expectEqual(changes.all, [.hog, .hog, .volume, .mute])
  }
}
