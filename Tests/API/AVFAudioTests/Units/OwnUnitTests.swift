import AVFoundation
import TestSupport
import Testing

/// An effect of the program: one channel at 48,000 Hz, which turns the sign of each sample unless it is bypassed.
private struct OwnEffect {
  var interface: AudioComponentPlugInInterface
  var input = AURenderCallbackStruct()
  var isBypassed: UInt32 = 0
  var isInitialized = false

  typealias Own = UnsafeMutablePointer<OwnEffect>
  typealias Set =
    @convention(c) (
      UnsafeMutableRawPointer, AudioUnitPropertyID, AudioUnitScope, AudioUnitElement,
      UnsafeRawPointer?, UInt32
    ) -> OSStatus
  typealias Get =
    @convention(c) (
      UnsafeMutableRawPointer, AudioUnitPropertyID, AudioUnitScope, AudioUnitElement,
      UnsafeMutableRawPointer?, UnsafeMutablePointer<UInt32>
    ) -> OSStatus
  typealias Render =
    @convention(c) (
      UnsafeMutableRawPointer, UnsafeMutablePointer<AudioUnitRenderActionFlags>,
      UnsafePointer<AudioTimeStamp>, UInt32, UInt32, UnsafeMutablePointer<AudioBufferList>
    ) -> OSStatus
  typealias Plain = @convention(c) (UnsafeMutableRawPointer) -> OSStatus

  static let format = AVAudioFormat.standard(48_000, 1).streamDescription.pointee

  static let set: Set = { own, id, _, _, data, size in
    let own = own.assumingMemoryBound(to: OwnEffect.self)
    guard let data else { return kAudio_ParamError }
    switch id {
    case kAudioUnitProperty_StreamFormat:
      if own.pointee.isInitialized { return kAudioUnitErr_Initialized }
      let wanted = data.loadUnaligned(as: AudioStreamBasicDescription.self)
      return wanted.mChannelsPerFrame == 1 && wanted.mSampleRate == 48_000
        ? noErr : kAudioUnitErr_FormatNotSupported
    case kAudioUnitProperty_SetRenderCallback:
      own.pointee.input = data.loadUnaligned(as: AURenderCallbackStruct.self)
    case kAudioUnitProperty_BypassEffect:
      own.pointee.isBypassed = data.loadUnaligned(as: UInt32.self)
    case kAudioUnitProperty_MaximumFramesPerSlice: break
    default: return kAudioUnitErr_InvalidProperty
    }
    return noErr
  }
  static let get: Get = { own, id, _, _, data, size in
    let own = own.assumingMemoryBound(to: OwnEffect.self)
    guard let data else { return kAudio_ParamError }
    switch id {
    case kAudioUnitProperty_StreamFormat:
      data.storeBytes(of: format, as: AudioStreamBasicDescription.self)
    case kAudioUnitProperty_BypassEffect:
      data.storeBytes(of: own.pointee.isBypassed, as: UInt32.self)
    default: return kAudioUnitErr_InvalidProperty
    }
    return noErr
  }
  static let render: Render = { own, flags, time, _, frames, list in
    let own = own.assumingMemoryBound(to: OwnEffect.self)
    guard let input = own.pointee.input.inputProc else { return kAudioUnitErr_NoConnection }
    let status = input(own.pointee.input.inputProcRefCon!, flags, time, 0, frames, list)
    if status != noErr || own.pointee.isBypassed != 0 { return status }
    let samples = UnsafeMutableAudioBufferListPointer(list)[0].mData!
      .assumingMemoryBound(to: Float.self)
    for i in 0..<Int(frames) { samples[i] = -samples[i] }
    return noErr
  }
  static let initialize: Plain = {
    $0.assumingMemoryBound(to: OwnEffect.self).pointee.isInitialized = true
    return noErr
  }
  static let uninitialize: Plain = {
    $0.assumingMemoryBound(to: OwnEffect.self).pointee.isInitialized = false
    return noErr
  }

  static let description = AudioComponentDescription("aufx", "sign", "test")
  nonisolated(unsafe) static let component = AudioComponentRegister(
    [description], "Test: Sign" as CFString, 7,
    { _ in
      let own = Own.allocate(capacity: 1)
      own.initialize(
        to: OwnEffect(
          interface: AudioComponentPlugInInterface(
            Open: { _, _ in noErr },
            Close: {
              $0.assumingMemoryBound(to: OwnEffect.self).deallocate()
              return noErr
            },
            Lookup: { selector in
              switch Int(selector) {
              case kAudioUnitSetPropertySelect: unsafeBitCast(set, to: AudioComponentMethod.self)
              case kAudioUnitGetPropertySelect: unsafeBitCast(get, to: AudioComponentMethod.self)
              case kAudioUnitRenderSelect: unsafeBitCast(render, to: AudioComponentMethod.self)
              case kAudioUnitInitializeSelect:
                unsafeBitCast(initialize, to: AudioComponentMethod.self)
              case kAudioUnitUninitializeSelect:
                unsafeBitCast(uninitialize, to: AudioComponentMethod.self)
              default: nil
              }
            }, reserved: nil)))
      return UnsafeMutableRawPointer(own).assumingMemoryBound(
        to: AudioComponentPlugInInterface.self)
    })
}

/// Units that the program has registered.
@Suite struct OwnUnitTests {
  @Test func aUnitOfTheProgramIsANode() throws {
    _ = try require(OwnEffect.component)
    let effect = AVAudioUnitEffect(audioComponentDescription: OwnEffect.description)
    expectTrue(effect.name == "Sign" && effect.manufacturerName == "Test" && effect.version == 7)
    let offline = try OfflineEngine()
    let player = offline.player(before: effect)
    let heard = Told<[Float]>()
    effect.installTap(onBus: 0, bufferSize: 512, format: nil) { buffer, _ in
      heard.add(buffer.channels[1])
    }
    let sound = noise(4096)
    // Two channels become one, and two again.
    let mono = zip(sound[0], sound[1]).map { $0 * 0.5 + $1 * 0.5 }
    player.scheduleBuffer(AVAudioPCMBuffer(sound))
    player.play()
    let turned = try offline.render(1024)
    expectEqual(turned, [mono[..<1024].map { -$0 }, mono[..<1024].map { -$0 }])
    expectTrue(waits { heard.all.count == 2 })
    expectEqual(heard.all.flatMap(\.self), turned[1])
    expectTrue(effect.lastRenderTime?.sampleTime == 512 && !effect.bypass)
    effect.bypass = true
    expectTrue(effect.bypass)
    expectEqual(try offline.render(1024)[0], Array(mono[1024..<2048]))
    offline.engine.detach(effect)
    expectEqual(try offline.render(1024), sound.map { Array($0[2048..<3072]) })
  }
}
