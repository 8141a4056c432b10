import Codecs
import RealTime
import TestSupport
import Testing

@testable import AudioToolbox

/// Returns a description of 16-bit stereo with the given changes.
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
            expectEqual(PCMFormat(format.streamDescription), format)
          }
        }
      }
    }
    for bits in [32, 64] {
      let format = PCMFormat(sampleRate: 48_000, channels: 1, kind: .float, bitsPerSample: bits)
      expectEqual(PCMFormat(format.streamDescription), format)
    }
  }

  @Test func fieldsAreThoseOfTheFormat() {
    let description = cd.streamDescription
    expectEqual(description.mSampleRate, 44_100)
    expectEqual(description.mFormatID, kAudioFormatLinearPCM)
    expectEqual(description.mFormatFlags, signed | packed)
    expectTrue(description.mBytesPerPacket == 4 && description.mBytesPerFrame == 4)
    expectTrue(description.mFramesPerPacket == 1 && description.mChannelsPerFrame == 2)
    expectTrue(description.mBitsPerChannel == 16 && description.mReserved == 0)
  }

  @Test func whatIsUnambiguousIsAccepted() {
    expectEqual(PCMFormat(describe()), cd)
    expectEqual(PCMFormat(describe(reserved: 0xDEAD)), cd)
    expectEqual(PCMFormat(describe(signed)), cd, "no packed flag")
    expectEqual(PCMFormat(describe(signed | kAudioFormatFlagIsAlignedHigh)), cd)
    expectEqual(PCMFormat(describe(packet: 0)), cd)
    expectEqual(PCMFormat(describe(frame: 0)), cd)
    expectEqual(PCMFormat(describe(packet: 0, frame: 0)), cd)
    expectEqual(PCMFormat(describe(frames: 0)), cd)
    expectEqual(PCMFormat(describe(bits: 0)), cd)
    expectEqual(PCMFormat(describe(signed | packed | kAudioFormatFlagIsNonMixable)), cd)
    let mono = describe(
      float | packed | kAudioFormatFlagIsNonInterleaved, channels: 1, bits: 32)
    expectEqual(
      PCMFormat(mono), PCMFormat(sampleRate: 44_100, channels: 1, kind: .float, bitsPerSample: 32))
  }

  @Test func whatIsNotIsRefused() {
    expectNil(PCMFormat(describe(id: kAudioFormatMPEG4AAC)))
    expectNil(PCMFormat(describe(signed | packed | kAudioFormatFlagIsNonInterleaved)))
    expectNil(PCMFormat(describe(signed | packed | 8 << 7)), "fixed point")
    expectNil(PCMFormat(describe(channels: 0)))
    expectNil(PCMFormat(describe(packet: 130, frame: 130, channels: 65)))
    expectNil(PCMFormat(describe(rate: 0)))
    expectNil(PCMFormat(describe(rate: .nan)))
    expectNil(PCMFormat(describe(packet: 8)), "a packet is a frame")
    expectNil(PCMFormat(describe(packet: 8, frames: 2)))
    expectNil(PCMFormat(describe(packet: 5, frame: 5)), "not a whole sample for each")
    expectNil(PCMFormat(describe(bits: 24)), "more bits than bytes")
    expectNil(PCMFormat(describe(bits: 12)), "packed, but it does not fill its bytes")
    expectNil(PCMFormat(describe(signed, packet: 0, frame: 0, bits: 24)), "3 bytes or 4")
    expectNil(PCMFormat(describe(signed, bits: 0)))
    expectNil(PCMFormat(describe(float | packed)), "no floats of 16 bits")
  }
}

@Suite struct PacketDescriptionTests {
  /// The usual descriptions of each codec's packets in 44.1 kHz stereo.
  private static let usual: [(Codec, AudioStreamBasicDescription)] = [
    (.aac, describe(0, id: kAudioFormatMPEG4AAC, packet: 0, frames: 1024, frame: 0, bits: 0)),
    (.aacHE, describe(0, id: kAudioFormatMPEG4AAC_HE, packet: 0, frames: 2048, frame: 0, bits: 0)),
    (
      .aacHEv2,
      describe(0, id: kAudioFormatMPEG4AAC_HE_V2, packet: 0, frames: 2048, frame: 0, bits: 0)
    ),
    (
      .alac,
      describe(
        kAppleLosslessFormatFlag_24BitSourceData, id: kAudioFormatAppleLossless, packet: 0,
        frames: 4096, frame: 0, bits: 0)
    ),
    (
      .flac,
      describe(
        kAppleLosslessFormatFlag_16BitSourceData, id: kAudioFormatFLAC, packet: 0, frames: 4608,
        frame: 0, bits: 0)
    ),
    (.opus, describe(0, id: kAudioFormatOpus, packet: 0, frames: 960, frame: 0, bits: 0)),
    (.mp1, describe(0, id: kAudioFormatMPEGLayer1, packet: 0, frames: 384, frame: 0, bits: 0)),
    (.mp2, describe(0, id: kAudioFormatMPEGLayer2, packet: 0, frames: 1152, frame: 0, bits: 0)),
    (.mp3, describe(0, id: kAudioFormatMPEGLayer3, packet: 0, frames: 1152, frame: 0, bits: 0)),
    (.ima4, describe(0, id: kAudioFormatAppleIMA4, packet: 68, frames: 64, frame: 0, bits: 0)),
    (
      .msIMA,
      describe(0, id: kAudioFormatDVIIntelIMA, packet: 1024, frames: 1017, frame: 0, bits: 0)
    ),
    (.ulaw, describe(0, id: kAudioFormatULaw, packet: 2, frames: 1, frame: 2, bits: 8)),
    (.alaw, describe(0, id: kAudioFormatALaw, packet: 2, frames: 1, frame: 2, bits: 8)),
    (.gsm, describe(0, id: kAudioFormatMicrosoftGSM, packet: 65, frames: 320, frame: 0, bits: 0)),
    (.ac3, describe(0, id: kAudioFormatAC3, packet: 0, frames: 1536, frame: 0, bits: 0)),
    (.eac3, describe(0, id: kAudioFormatEnhancedAC3, packet: 0, frames: 1536, frame: 0, bits: 0)),
    (.amrNarrow, describe(0, id: kAudioFormatAMR, packet: 0, frames: 160, frame: 0, bits: 0)),
    (.amrWide, describe(0, id: kAudioFormatAMR_WB, packet: 0, frames: 320, frame: 0, bits: 0)),
    (.vorbis, describe(0, id: 0x766F_7262, packet: 0, frames: 0, frame: 0, bits: 0)),
  ]

  @Test func everyCodecHasItsDescription() throws {
    expectEqual(Set(Self.usual.map(\.0)), Set(Codec.allCases))
    for (codec, description) in Self.usual {
      let format = try require(PacketFormat(description))
      expectTrue(format.codec == codec && format.sampleRate == 44_100 && format.channels == 2)
      expectEqual(format.framesPerPacket, Int(description.mFramesPerPacket))
      expectEqual(format.bytesPerPacket, Int(description.mBytesPerPacket))
      expectEqual(format.bitsPerSample, (codec == .alac ? 24 : codec == .flac ? 16 : 0))
      let back = format.streamDescription
      expectTrue(
        StreamFormat(back) == .packets(format) && StreamFormat(description) == .packets(format))
      expectEqual(back.mFormatID, description.mFormatID, "\(codec)")
      expectEqual(back.mFormatFlags, description.mFormatFlags, "\(codec)")
      expectEqual(back.mBytesPerPacket, description.mBytesPerPacket, "\(codec)")
      expectEqual(back.mFramesPerPacket, description.mFramesPerPacket, "\(codec)")
      expectEqual(back.mBytesPerFrame, description.mBytesPerFrame, "\(codec)")
      expectEqual(back.mBitsPerChannel, description.mBitsPerChannel, "\(codec)")
      expectTrue(back.mSampleRate == 44_100 && back.mChannelsPerFrame == 2 && back.mReserved == 0)
    }
  }

  @Test func whatIsLeftOutIsFilledIn() throws {
    for (codec, description) in Self.usual {
      let bare = describe(
        codec.isLossless ? description.mFormatFlags : 0, id: description.mFormatID, packet: 0,
        frames: 0, frame: 0, bits: 0)
      let format = try require(PacketFormat(bare))
      switch codec {
      case .flac, .opus, .msIMA, .vorbis:
        expectTrue(format.framesPerPacket == 0 && format.bytesPerPacket == 0)
      default: expectEqual(PacketFormat(description), format)
      }
      // Only the codec is known.
      let unknown = describe(
        0, rate: 0, id: description.mFormatID, packet: 0, frames: 0, frame: 0, channels: 0, bits: 0)
      expectTrue(PacketFormat(unknown)?.codec == codec && PacketFormat(unknown)?.channels == 0)
    }
    // Low sample rates have shorter packets.
    let low = describe(
      0, rate: 22_050, id: kAudioFormatMPEGLayer3, packet: 0, frames: 0, frame: 0, bits: 0)
    expectEqual(PacketFormat(low)?.framesPerPacket, 576)
    let counted = describe(
      0, id: kAudioFormatAppleLossless, packet: 0, frames: 0, frame: 0, bits: 20)
    expectEqual(PacketFormat(counted)?.bitsPerSample, 20)
    let extended = describe(
      5, id: kAudioFormatMPEG4AAC, packet: 0, frames: 0, frame: 0, bits: 0)
    expectEqual(PacketFormat(extended)?.codec, .aacHE)
    let flagged = describe(
      AudioFormatFlags(MPEG4ObjectID.AAC_LC.rawValue), id: kAudioFormatMPEG4AAC, packet: 0,
      frames: 960, frame: 0, bits: 0)
    expectTrue(
      PacketFormat(flagged)?.codec == .aac && PacketFormat(flagged)?.framesPerPacket == 960)
    let plain = describe(
      0, rate: 8000, id: kAudioFormatMicrosoftGSM, packet: 33, frames: 0, frame: 0, channels: 1,
      bits: 0)
    expectEqual(PacketFormat(plain)?.framesPerPacket, 160)
  }

  @Test func contradictionsAreRefused() {
    for description in [
      describe(0, id: kAudioFormatAppleIMA4, packet: 34, frames: 64, frame: 0, bits: 0),
      describe(0, id: kAudioFormatAppleIMA4, packet: 68, frames: 65, frame: 0, bits: 0),
      describe(0, id: kAudioFormatULaw, packet: 3, frames: 1, frame: 2, bits: 8),
      describe(0, id: kAudioFormatULaw, packet: 2, frames: 2, frame: 2, bits: 8),
      describe(0, id: kAudioFormatMicrosoftGSM, packet: 33, frames: 320, frame: 0, bits: 0),
      describe(0, rate: -1, id: kAudioFormatMPEG4AAC),
      describe(0, rate: .nan, id: kAudioFormatMPEG4AAC),
      describe(0, rate: .infinity, id: kAudioFormatMPEG4AAC),
      describe(0, id: kAudioFormatMPEG4AAC, channels: 65),
      describe(0, id: kAudioFormatQDesign2), describe(0, id: 0), describe(0, id: .max),
    ] {
      expectNil(StreamFormat(description), "\(description)")
    }
    expectNil(PacketFormat(describe()))
    expectEqual(StreamFormat(describe()), .pcm(PCMFormat(describe())!))
    expectTrue(
      StreamFormat(describe()).map { PCMFormat($0.streamDescription) } == PCMFormat(describe()))
    expectNil(StreamFormat(describe(frames: 2)))
  }
}
