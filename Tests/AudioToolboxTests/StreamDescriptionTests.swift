import RealTime
import Testing

@testable import AudioToolbox

/// 16-bit stereo, but for what is given.
private func describe(
  _ flags: AudioFormatFlags = kAudioFormatFlagIsSignedInteger | kAudioFormatFlagIsPacked,
  rate: Double = 44_100, id: AudioFormatID = kAudioFormatLinearPCM, packet: UInt32 = 4,
  frames: UInt32 = 1, frame: UInt32 = 4, channels: UInt32 = 2, bits: UInt32 = 16,
  reserved: UInt32 = 0
) -> AudioStreamBasicDescription {
  AudioStreamBasicDescription(
    mSampleRate: rate, mFormatID: id, mFormatFlags: flags, mBytesPerPacket: packet,
    mFramesPerPacket: frames, mBytesPerFrame: frame, mChannelsPerFrame: channels,
    mBitsPerChannel: bits, mReserved: reserved)
}

@Suite struct StreamDescriptionTests {
  private let signed = kAudioFormatFlagIsSignedInteger
  private let packed = kAudioFormatFlagIsPacked
  private let float = kAudioFormatFlagIsFloat
  private let cd = PCMFormat(
    sampleRate: 44_100, channels: 2, kind: .signedInteger, bitsPerSample: 16)

  @Test func aDescriptionComesBackAsItWas() {
    for kind in [PCMFormat.Kind.signedInteger, .unsignedInteger] {
      for (bits, bytes) in [(8, 1), (16, 2), (24, 3), (32, 4), (20, 3), (24, 4)] {
        for isBigEndian in [false, true] where bytes > 1 || !isBigEndian {
          for isHighAligned in [false, true] where bits < 8 * bytes || !isHighAligned {
            let format = PCMFormat(
              sampleRate: 96_000, channels: 3, kind: kind, bitsPerSample: bits,
              bytesPerSample: bytes, isBigEndian: isBigEndian, isHighAligned: isHighAligned)
            #expect(PCMFormat(format.streamDescription) == format)
          }
        }
      }
    }
    for bits in [32, 64] {
      let format = PCMFormat(sampleRate: 48_000, channels: 1, kind: .float, bitsPerSample: bits)
      #expect(PCMFormat(format.streamDescription) == format)
    }
  }

  @Test func fieldsAreThoseOfTheFormat() {
    let description = cd.streamDescription
    #expect(description.mSampleRate == 44_100)
    #expect(description.mFormatID == kAudioFormatLinearPCM)
    #expect(description.mFormatFlags == signed | packed)
    #expect(description.mBytesPerPacket == 4 && description.mBytesPerFrame == 4)
    #expect(description.mFramesPerPacket == 1 && description.mChannelsPerFrame == 2)
    #expect(description.mBitsPerChannel == 16 && description.mReserved == 0)
  }

  @Test func whatIsUnambiguousIsAccepted() {
    #expect(PCMFormat(describe()) == cd)
    #expect(PCMFormat(describe(reserved: 0xDEAD)) == cd)
    #expect(PCMFormat(describe(signed)) == cd, "no packed flag")
    #expect(PCMFormat(describe(signed | kAudioFormatFlagIsAlignedHigh)) == cd)
    #expect(PCMFormat(describe(packet: 0)) == cd)
    #expect(PCMFormat(describe(frame: 0)) == cd)
    #expect(PCMFormat(describe(packet: 0, frame: 0)) == cd)
    #expect(PCMFormat(describe(frames: 0)) == cd)
    #expect(PCMFormat(describe(bits: 0)) == cd)
    #expect(PCMFormat(describe(signed | packed | kAudioFormatFlagIsNonMixable)) == cd)
    let mono = describe(
      float | packed | kAudioFormatFlagIsNonInterleaved, channels: 1, bits: 32)
    #expect(
      PCMFormat(mono)
        == PCMFormat(sampleRate: 44_100, channels: 1, kind: .float, bitsPerSample: 32))
  }

  @Test func whatIsNotIsRefused() {
    #expect(PCMFormat(describe(id: kAudioFormatMPEG4AAC)) == nil)
    #expect(PCMFormat(describe(signed | packed | kAudioFormatFlagIsNonInterleaved)) == nil)
    #expect(PCMFormat(describe(signed | packed | 8 << 7)) == nil, "fixed point")
    #expect(PCMFormat(describe(channels: 0)) == nil)
    #expect(PCMFormat(describe(packet: 130, frame: 130, channels: 65)) == nil)
    #expect(PCMFormat(describe(rate: 0)) == nil)
    #expect(PCMFormat(describe(rate: .nan)) == nil)
    #expect(PCMFormat(describe(packet: 8)) == nil, "a packet is a frame")
    #expect(PCMFormat(describe(packet: 8, frames: 2)) == nil)
    #expect(PCMFormat(describe(packet: 5, frame: 5)) == nil, "not a whole sample for each")
    #expect(PCMFormat(describe(bits: 24)) == nil, "more bits than bytes")
    #expect(PCMFormat(describe(bits: 12)) == nil, "packed, but it does not fill its bytes")
    #expect(PCMFormat(describe(signed, packet: 0, frame: 0, bits: 24)) == nil, "3 bytes or 4")
    #expect(PCMFormat(describe(signed, bits: 0)) == nil)
    #expect(PCMFormat(describe(float | packed)) == nil, "no floats of 16 bits")
  }
}
