import AudioToolbox
import Foundation
import Testing

/// Lists of buffers are collections, as in Apple's Core Audio module.
@Suite struct BufferListTests {
  @Test func aListIsACollection() {
    let list = AudioBufferList.allocate(maximumBuffers: 3)
    defer { free(list.unsafeMutablePointer) }
    #expect(list.count == 3 && list.unsafePointer.pointee.mNumberBuffers == 3)
    #expect(list.allSatisfy { $0.mData == nil && $0.mNumberChannels == 0 })
    for i in list.indices { list[i].mNumberChannels = UInt32(i + 1) }
    list[2] = AudioBuffer(mNumberChannels: 9, mDataByteSize: 0, mData: nil)
    #expect(list.map(\.mNumberChannels) == [1, 2, 9])
    list.count = 2
    #expect(list.endIndex == 2 && list.last?.mNumberChannels == 2)
    #expect(UnsafeMutableAudioBufferListPointer(list.unsafeMutablePointer).count == 2)
    #expect(UnsafeMutableAudioBufferListPointer(nil) == nil)
  }

  @Test(arguments: 1...3) func aListHasTheSizeOfCs(buffers: Int) {
    #expect(
      AudioBufferList.sizeInBytes(maximumBuffers: buffers)
        == MemoryLayout<AudioBufferList>.size
        + (buffers - 1) * MemoryLayout<AudioBuffer>.stride)
  }

  @Test func aBufferHasElements() {
    var samples: [Float] = [0, 0.5, 1]
    samples.withUnsafeMutableBufferPointer { samples in
      var buffer = AudioBuffer(samples, numberOfChannels: 1)
      #expect(buffer.mDataByteSize == 12 && buffer.mNumberChannels == 1)
      #expect(UnsafeBufferPointer<Float>(buffer).elementsEqual([0, 0.5, 1]))
      buffer.mDataByteSize = 11
      let whole = UnsafeMutableBufferPointer<Float>(buffer)
      #expect(whole.count == 2)
      whole[1] = 2
    }
    #expect(samples == [0, 2, 1])
  }

  @Test func aLayoutIsACollection() {
    let layout = AudioChannelLayout.allocate(maximumDescriptions: 2)
    defer { free(layout.unsafeMutablePointer) }
    for i in layout.indices { layout[i].mChannelLabel = AudioChannelLabel(i + 1) }
    #expect(layout.map(\.mChannelLabel) == [kAudioChannelLabel_Left, kAudioChannelLabel_Right])
    #expect(layout.unsafePointer.pointee.mNumberChannelDescriptions == 2)
    #expect(
      AudioChannelLayout.sizeInBytes(maximumDescriptions: 2)
        == AudioChannelLayout.sizeInBytes(maximumDescriptions: 1)
        + MemoryLayout<AudioChannelDescription>.stride)
  }
}
