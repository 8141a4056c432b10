import TestSupport
import Testing

@testable import RealTime

/// The ring of samples for measuring.
@Suite struct SampleTapTests {
  /// A tap with memory of its own, and two planes to write from.
  private final class Rig {
    let memory: UnsafeMutableBufferPointer<Float>
    let planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
    let tap: UnsafeMutablePointer<SampleTap>
    let channels: Int

    init(channels: Int, frames: Int) {
      self.channels = channels
      memory = .allocate(capacity: frames * channels)
      planes = .allocate(capacity: 2)
      for channel in 0..<2 { (planes + channel).initialize(to: .allocate(capacity: 64)) }
      tap = .allocate(capacity: 1)
      tap.initialize(to: SampleTap(channels: channels, samples: memory))
    }

    deinit {
      tap.deinitialize(count: 1)
      tap.deallocate()
      for channel in 0..<2 { planes[channel].deallocate() }
      planes.deallocate()
      memory.deallocate()
    }

    func write(_ planes: [[Float]], isSpread: Bool = false) {
      for (channel, samples) in planes.enumerated() {
        for (frame, sample) in samples.enumerated() { self.planes[channel][frame] = sample }
      }
      tap.pointee.write(self.planes, from: 0, to: planes[0].count, isSpread: isSpread)
    }

    func read(_ frames: Int) -> [Float] {
      var buffer = [Float](repeating: 0, count: frames * channels)
      let count = buffer.withUnsafeMutableBufferPointer { tap.pointee.read(into: $0) }
      return Array(buffer[..<(count * channels)])
    }
  }

  @Test func framesComeInOrderRoundTheEnd() {
    let rig = Rig(channels: 2, frames: 8)
    var next: Float = 0
    for size in [5, 3, 8, 1, 7, 2, 8] {
      let left = (0..<size).map { next + Float($0) }
      next += Float(size)
      rig.write([left, left.map { -$0 }])
      expectEqual(rig.read(size - 1) + rig.read(8), left.flatMap { [$0, -$0] })
    }
    expectTrue(rig.read(8) == [] && rig.tap.pointee.droppedFrames == 0)
  }

  @Test func aFullRingDropsFramesAndCountsThem() {
    let rig = Rig(channels: 1, frames: 4)
    rig.write([[1, 2, 3]])
    rig.write([[4, 5]])
    expectEqual(rig.tap.pointee.droppedFrames, 2)
    expectEqual(rig.read(8), [1, 2, 3])
    rig.write([[6, 7, 8, 9]])
    expectTrue(rig.read(8) == [6, 7, 8, 9] && rig.tap.pointee.droppedFrames == 2)
  }

  @Test func aSpreadChannelIsTheLouderOfItsPorts() {
    let rig = Rig(channels: 1, frames: 4)
    rig.write([[0.1, -0.5, 0], [0.2, -0.25, -0.1]], isSpread: true)
    expectEqual(rig.read(4), [0.2, -0.5, -0.1])
  }
}
