import AVFoundation
import Testing

@Suite struct BufferTests {
  private func sizes(_ list: UnsafePointer<AudioBufferList>) -> [UInt32] {
    UnsafeMutableAudioBufferListPointer(UnsafeMutablePointer(mutating: list)).map(\.mDataByteSize)
  }

  @Test func aNewBufferIsSilentAndHasNoValidFrames() throws {
    let buffer = try #require(AVAudioPCMBuffer(pcmFormat: .standard(), frameCapacity: 1000))
    #expect(buffer.frameCapacity == 1000 && buffer.frameLength == 0 && buffer.stride == 1)
    for channel in 0..<2 {
      #expect((0..<1000).allSatisfy { buffer.floatChannelData![channel][$0] == 0 })
    }
    #expect(buffer.int16ChannelData == nil && buffer.int32ChannelData == nil)
  }

  @Test func theListShowsTheLengthAndTheMutableOneKeepsWhatIsWritten() throws {
    let buffer = try #require(AVAudioPCMBuffer(pcmFormat: .standard(), frameCapacity: 100))
    #expect(sizes(buffer.audioBufferList) == [0, 0])
    #expect(sizes(buffer.mutableAudioBufferList) == [400, 400])
    buffer.frameLength = 60
    #expect(sizes(buffer.audioBufferList) == [240, 240])
    #expect(sizes(buffer.mutableAudioBufferList) == [400, 400])
    buffer.mutableAudioBufferList.pointee.mBuffers.mDataByteSize = 80
    #expect(sizes(buffer.mutableAudioBufferList) == [80, 400] && buffer.frameLength == 60)
    buffer.frameLength = buffer.frameCapacity
    #expect(sizes(buffer.audioBufferList) == [400, 400])
    #expect(sizes(buffer.mutableAudioBufferList) == [80, 400])
    let list = UnsafeMutableAudioBufferListPointer(buffer.mutableAudioBufferList)
    #expect(list[1].mData == UnsafeMutableRawPointer(buffer.floatChannelData![1]))
    #expect(list[1].mNumberChannels == 1)
  }

  @Test func interleavedChannelsAreNeighboursOfAFrame() throws {
    let buffer = try #require(AVAudioPCMBuffer(pcmFormat: .shorts(), frameCapacity: 10))
    buffer.frameLength = 10
    #expect(buffer.stride == 2 && buffer.floatChannelData == nil)
    let data = try #require(buffer.int16ChannelData)
    #expect(data[1] == data[0] + 1)
    for frame in 0..<10 {
      data[0][frame * buffer.stride] = Int16(frame)
      data[1][frame * buffer.stride] = -Int16(frame)
    }
    let list = UnsafeMutableAudioBufferListPointer(buffer.mutableAudioBufferList)
    #expect(list.count == 1 && list[0].mNumberChannels == 2)
    #expect(Array(UnsafeBufferPointer<Int16>(list[0]).prefix(6)) == [0, 0, 1, -1, 2, -2])
    let wide = AVAudioFormat(
      commonFormat: .pcmFormatInt32, sampleRate: 48000, channels: 2, interleaved: false)!
    #expect(AVAudioPCMBuffer(pcmFormat: wide, frameCapacity: 1)?.int32ChannelData != nil)
    let double = AVAudioFormat(
      commonFormat: .pcmFormatFloat64, sampleRate: 48000, channels: 2, interleaved: true)!
    #expect(AVAudioPCMBuffer(pcmFormat: double, frameCapacity: 1)?.stride == 2)
  }

  @Test func aBufferThatCannotBeIsNil() {
    #expect(
      AVAudioPCMBuffer(pcmFormat: .packets(kAudioFormatMPEG4AAC), frameCapacity: 10) == nil)
    #expect(AVAudioPCMBuffer(pcmFormat: .absent, frameCapacity: 10) == nil)
    #expect(AVAudioPCMBuffer(pcmFormat: .standard(), frameCapacity: .max) == nil)
    #expect(AVAudioPCMBuffer(pcmFormat: .standard(), frameCapacity: 0)?.frameCapacity == 0)
  }

  @Test func aCopyHasMemoryOfItsOwn() throws {
    let sound = noise(300)
    for format in [
      nil,
      AVAudioFormat(
        commonFormat: .pcmFormatFloat32, sampleRate: 48000, channels: 2, interleaved: true),
    ] {
      let buffer = AVAudioPCMBuffer(sound, format, room: 500)
      let copies = try [buffer.copy(), buffer.mutableCopy()].map {
        try #require($0 as? AVAudioPCMBuffer)
      }
      buffer.floatChannelData![1][10] = 9
      #expect(sizes(buffer.audioBufferList)[0] == (format == nil ? 1200 : 2400))
      for copy in copies {
        #expect(copy.channels == sound && copy.frameCapacity == 500 && copy.format == buffer.format)
      }
    }
  }

  @Test func memoryOfTheProgramIsNotCopied() throws {
    final class Told: @unchecked Sendable { var lists: [[UInt32]] = [] }
    let told = Told()
    let memory = UnsafeMutablePointer<Int16>.allocate(capacity: 20)
    defer { memory.deallocate() }
    for index in 0..<20 { memory[index] = Int16(index) }
    var list = AudioBufferList(
      mNumberBuffers: 1,
      mBuffers: AudioBuffer(mNumberChannels: 2, mDataByteSize: 40, mData: memory))
    do {
      let buffer = try #require(
        AVAudioPCMBuffer(pcmFormat: .shorts(), bufferListNoCopy: &list) { list in
          told.lists.append(
            UnsafeMutableAudioBufferListPointer(UnsafeMutablePointer(mutating: list))
              .map(\.mDataByteSize))
        })
      #expect(buffer.frameLength == 10 && buffer.frameCapacity == 10)
      buffer.frameLength = 3
      #expect(buffer.int16ChannelData![1][4] == 5)
      memory[5] = 77
      #expect(buffer.int16ChannelData![1][4] == 77)
      #expect(told.lists.isEmpty)
    }
    #expect(told.lists == [[40]])
    list.mBuffers.mDataByteSize = 39
    #expect(AVAudioPCMBuffer(pcmFormat: .shorts(), bufferListNoCopy: &list) == nil)
    list.mBuffers.mDataByteSize = 40
    #expect(AVAudioPCMBuffer(pcmFormat: .standard(), bufferListNoCopy: &list) == nil)
    list.mBuffers.mData = nil
    #expect(AVAudioPCMBuffer(pcmFormat: .shorts(), bufferListNoCopy: &list) == nil)
  }

  @Test func packetsHaveDescriptionsIfTheirSizesVary() throws {
    let buffer = AVAudioCompressedBuffer(
      format: .packets(kAudioFormatMPEG4AAC), packetCapacity: 4, maximumPacketSize: 100)
    #expect(buffer.packetCapacity == 4 && buffer.maximumPacketSize == 100)
    #expect(buffer.byteCapacity == 400 && buffer.byteLength == 0 && buffer.packetCount == 0)
    #expect(sizes(buffer.audioBufferList) == [0])
    let descriptions = try #require(buffer.packetDescriptions)
    buffer.data.storeBytes(of: 0xAB, toByteOffset: 1, as: UInt8.self)
    descriptions[0] = AudioStreamPacketDescription(
      mStartOffset: 1, mVariableFramesInPacket: 0, mDataByteSize: 1)
    buffer.packetCount = 1
    buffer.byteLength = 2
    #expect(sizes(buffer.audioBufferList) == [2])
    let copy = try #require(buffer.copy() as? AVAudioCompressedBuffer)
    #expect(copy.packetCount == 1 && copy.byteLength == 2 && copy.data != buffer.data)
    #expect(copy.packetDescriptions?[0].mStartOffset == 1)
    #expect(copy.data.load(fromByteOffset: 1, as: UInt8.self) == 0xAB)

    let uniform = AVAudioCompressedBuffer(format: .packets(kAudioFormatULaw), packetCapacity: 8)
    #expect(uniform.packetDescriptions == nil && uniform.byteCapacity == 16)
  }
}
