import AVFoundation
import TestSupport
import Testing

/// What raises an exception on Apple's systems ends the program with a sentence.
@Suite struct EndingTests {
  private func expect(_ words: String, in result: ExitTest.Result?) {
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    expectTrue(text.contains(words), "\(text)")
  }

  @Test func aLengthAboveTheCapacity() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      AVAudioPCMBuffer(pcmFormat: .standard(), frameCapacity: 10)!.frameLength = 11
    }
    expect("AVAudioPCMBuffer.frameLength: 11 frames do not fit a capacity of 10", in: result)
  }

  @Test func packetsAboveTheCapacity() async {
    let count = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      AVAudioCompressedBuffer(format: .packets(kAudioFormatULaw), packetCapacity: 8).packetCount = 9
    }
    expect("AVAudioCompressedBuffer.packetCount: 9 packets do not fit", in: count)
    let bytes = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      AVAudioCompressedBuffer(format: .packets(kAudioFormatULaw), packetCapacity: 8).byteLength = 17
    }
    expect("AVAudioCompressedBuffer.byteLength: 17 bytes do not fit a capacity of 16", in: bytes)
  }

  @Test func buffersThatCannotBe() async {
    let linear = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      _ = AVAudioCompressedBuffer(format: .standard(), packetCapacity: 8, maximumPacketSize: 8)
    }
    expect("is no format of packets", in: linear)
    let varying = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      _ = AVAudioCompressedBuffer(format: .packets(kAudioFormatMPEG4AAC), packetCapacity: 8)
    }
    expect("vary in size: give their maximum", in: varying)
    let large = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      _ = AVAudioCompressedBuffer(
        format: .packets(kAudioFormatMPEG4AAC), packetCapacity: .max, maximumPacketSize: .max)
    }
    expect("there is no memory for 4294967295 packets", in: large)
  }

  @Test func formatsThatCannotBe() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      _ = AVAudioFormat(
        standardFormatWithSampleRate: .nan,
        channelLayout: AVAudioChannelLayout(layoutTag: kAudioChannelLayoutTag_Stereo)!)
    }
    expect("AVAudioFormat: there is no linear PCM", in: result)
  }
}
