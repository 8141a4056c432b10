import AudioToolbox
import Foundation
import TestSupport
import Testing

/// Lists of buffers are collections, as in Apple's Core Audio module.
@Suite struct BufferListTests {
  @Test func aListIsACollection() {
    let list = AudioBufferList.allocate(maximumBuffers: 3)
    defer { free(list.unsafeMutablePointer) }
    expectTrue(list.count == 3 && list.unsafePointer.pointee.mNumberBuffers == 3)
    expectTrue(list.allSatisfy { $0.mData == nil && $0.mNumberChannels == 0 })
    for i in list.indices { list[i].mNumberChannels = UInt32(i + 1) }
    list[2] = AudioBuffer(mNumberChannels: 9, mDataByteSize: 0, mData: nil)
    expectEqual(list.map(\.mNumberChannels), [1, 2, 9])
    list.count = 2
    expectTrue(list.endIndex == 2 && list.last?.mNumberChannels == 2)
    expectEqual(UnsafeMutableAudioBufferListPointer(list.unsafeMutablePointer).count, 2)
    expectNil(UnsafeMutableAudioBufferListPointer(nil))
  }

  @Test(arguments: 1...3) func aListHasTheSizeOfCs(buffers: Int) {
    expectEqual(
      AudioBufferList.sizeInBytes(maximumBuffers: buffers),
      MemoryLayout<AudioBufferList>.size
        + (buffers - 1) * MemoryLayout<AudioBuffer>.stride)
  }

  @Test func aBufferHasElements() {
    var samples: [Float] = [0, 0.5, 1]
    samples.withUnsafeMutableBufferPointer { samples in
      var buffer = AudioBuffer(samples, numberOfChannels: 1)
      expectTrue(buffer.mDataByteSize == 12 && buffer.mNumberChannels == 1)
      expectTrue(UnsafeBufferPointer<Float>(buffer).elementsEqual([0, 0.5, 1]))
      buffer.mDataByteSize = 11
      let whole = UnsafeMutableBufferPointer<Float>(buffer)
      expectEqual(whole.count, 2)
      whole[1] = 2
    }
    expectEqual(samples, [0, 2, 1])
  }

  @Test func aLayoutIsACollection() {
    let layout = AudioChannelLayout.allocate(maximumDescriptions: 2)
    defer { free(layout.unsafeMutablePointer) }
    for i in layout.indices { layout[i].mChannelLabel = AudioChannelLabel(i + 1) }
    expectEqual(layout.map(\.mChannelLabel), [kAudioChannelLabel_Left, kAudioChannelLabel_Right])
    expectEqual(layout.unsafePointer.pointee.mNumberChannelDescriptions, 2)
    expectEqual(
      AudioChannelLayout.sizeInBytes(maximumDescriptions: 2),
      AudioChannelLayout.sizeInBytes(maximumDescriptions: 1)
        + MemoryLayout<AudioChannelDescription>.stride)
  }
}
