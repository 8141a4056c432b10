import Foundation
import RealTime
import Server
import TestSupport
import Testing
import Timeline

@testable import AudioQueue

/// 28: forms of device time.
@Suite(.tags(.server), .serialized) struct QueueDeviceTimeTests {
  @Test func aDeviceThatIsNotOpenHasNoTime() throws {
    let rig = try Rig()
    expectNil(rig.queue.deviceTime)
    #expect(throws: QueueError.invalidRunState) { try rig.queue.deviceTime(of: .frame(0)) }
    #expect(throws: QueueError.invalidRunState) { try rig.queue.nearestStart(to: .frame(0)) }
  }

  @Test func framesAndHostTimesAreTranslated() throws {
    let rig = try Rig()
    _ = try rig.queue.prime(frames: 0)
    rig.cycle()
    let second = try rig.queue.deviceTime(of: .frame(48000))
    // Servers report the time of a cycle in microseconds.
    expectTrue(second.frame == 48000 && abs(Int64(second.hostTime) - 1_000_000_000) < 1000)
    try expectTrue(rig.queue.deviceTime(of: .hostTime(2_000_000_000)) == (96000, 2_000_000_000))
    // Beyond the range of the 32-bit counter.
    let day = try rig.queue.deviceTime(of: .frame(48000 * 86400 * 2))
    let twoDays: Int64 = 2 * 86400 * 1_000_000_000
    expectTrue(abs(Int64(day.hostTime) - twoDays) < 1_000_000)
    let back = try rig.queue.deviceTime(of: .hostTime(day.hostTime))
    expectTrue(abs(back.frame - 48000 * 86400 * 2) <= 48)
  }

  @Test func bothTimesAreOfOneMoment() throws {
    let rig = try Rig()
    _ = try rig.queue.prime(frames: 0)
    rig.cycle()
    rig.server.framesPerReading = 4800
    // Servers report the time of a cycle in microseconds.
    func isNear(_ hostTime: UInt64, frame: Double) -> Bool {
      abs(Double(hostTime) - frame / 48000 * 1e9) < 1000
    }
    func expectOneMoment(_ time: (frame: Int64, hostTime: UInt64)?) throws {
      let time = try require(time)
      expectTrue(isNear(time.hostTime, frame: Double(time.frame)))
    }
    try expectOneMoment(rig.queue.deviceTime)
    try expectOneMoment(rig.queue.deviceTime(of: .atOnce))
    try rig.queue.start(at: .frame(1 << 20))
    // The time at which a frame is heard does not depend on the time of the query.
    let start = try require(rig.queue.hostTime(ofRunFrame: 0))
    expectTrue(isNear(start, frame: Double(1 << 20)))
    try expectEqual(rig.queue.runFrame(atHostTime: start), 0)
    let time = try require(rig.queue.currentTime)
    expectTrue(isNear(time.hostTime, frame: time.frame + Double(1 << 20)))
  }

  @Test func aStartWithoutATimeIsAtFrame0UntilItsFirstCycle() throws {
    let rig = try Rig()
    try rig.enqueue(ramp(1000))
    _ = try rig.queue.prime(frames: 0)
    rig.cycle()
    expectNil(rig.queue.currentTime)
    try rig.queue.start()
    expectEqual(rig.queue.currentTime?.frame, 0)
    rig.cycle(2)
    expectTrue(try require(rig.queue.currentTime).frame > 0)
  }

  @Test func theNearestStartIsNeverBeforeTheNextCycle() throws {
    let rig = try Rig()
    _ = try rig.queue.prime(frames: 0)
    // No cycle has run yet.
    #expect(throws: QueueError.invalidRunState) { try rig.queue.nearestStart(to: .frame(0)) }
    rig.cycle(3)
    let earliest = try rig.queue.nearestStart(to: .frame(0)).frame
    expectTrue(earliest >= 192)
    try expectEqual(rig.queue.nearestStart(to: .atOnce).frame, earliest)
    try expectEqual(rig.queue.nearestStart(to: .hostTime(0)).frame, earliest)
    // A time that is late enough stays unchanged.
    try expectEqual(rig.queue.nearestStart(to: .frame(10_000)).frame, 10_000)
    // A queue started at this time starts exactly then.
    try rig.enqueue(ramp(10))
    try rig.queue.start(at: .frame(earliest))
    rig.cycle(5)
    expectEqual(rig.queue.statistics.beganAt, earliest)
  }

  @Test(.disabled(if: isSanitized, "libjack itself upsets sanitizers"))
  func onJack() throws {
    let jack = try JackDaemon(period: 1024)
    defer { jack.stop() }
    let queue = try OutputQueue(
      .float(1), options: OutputQueue.Options(clientName: "clock", connections: .none),
      server: JackServer(named: jack.name), callingBackOn: .ownThread,
      OutputQueue.Handlers(bufferDone: { _, _ in }, changed: { _, _ in }))
    defer { try? queue.dispose(afterPlaying: false) }
    _ = try queue.prime(frames: 0)
    let nearest = try queue.nearestStart(to: .frame(0))
    let now = try require(queue.deviceTime)
    // Not before the next cycle, which may be long past on a busy machine.
    expectTrue(nearest.frame > 0 && abs(nearest.frame - now.frame) < 48000 * 60)
    let second = try queue.deviceTime(of: .frame(now.frame + 48000))
    // JACK's estimate shifts with each late cycle.
    expectTrue(abs(Int64(second.hostTime) - Int64(now.hostTime) - 1_000_000_000) < 500_000_000)
    let back = try queue.deviceTime(of: .hostTime(second.hostTime))
    expectTrue(abs(back.frame - now.frame - 48000) <= 24_000)
  }
}
