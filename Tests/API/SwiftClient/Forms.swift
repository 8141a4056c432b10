// Forms of programs for Apple's systems that the rest of this program does not need. They are only compiled.

import AudioToolbox
import CoreFoundation

final class Forms {
  var unit: AudioUnit?
  var graph: AUGraph?
  var file: ExtAudioFileRef?
  var converter: AudioConverterRef?
  var queue: AudioQueueRef?
  var stream: AudioFileStreamID?
  var buffers: [AudioQueueBufferRef] = []

  func setUp() throws {
    var desc = AudioComponentDescription(
      componentType: OSType(kAudioUnitType_Output),
      componentSubType: OSType(kAudioUnitSubType_HALOutput),
      componentManufacturer: OSType(kAudioUnitManufacturer_Apple),
      componentFlags: AudioComponentFlags.sandboxSafe.rawValue, componentFlagsMask: 0)
    guard let component = AudioComponentFindNext(nil, &desc) else { return }
    AudioComponentInstanceNew(component, &unit)
    var name: Unmanaged<CFString>?
    AudioComponentCopyName(component, &name)
    print(name!.takeRetainedValue() as String)
    var enable: UInt32 = 1
    AudioUnitSetProperty(
      unit!, kAudioOutputUnitProperty_EnableIO, kAudioUnitScope_Input, 1, &enable,
      UInt32(MemoryLayout.size(ofValue: enable)))
    var callback = AURenderCallbackStruct(
      inputProc: render,
      inputProcRefCon: UnsafeMutableRawPointer(Unmanaged.passUnretained(self).toOpaque()))
    AudioUnitSetProperty(
      unit!, kAudioUnitProperty_SetRenderCallback, kAudioUnitScope_Global, 0, &callback,
      UInt32(MemoryLayout<AURenderCallbackStruct>.size))
    AudioUnitAddRenderNotify(
      unit!,
      { (refCon, flags, ts, bus, frames, data) -> OSStatus in
        if flags.pointee.contains(.unitRenderAction_PostRender) { return noErr }
        return noErr
      }, nil)
    AudioUnitAddPropertyListener(
      unit!, kAudioUnitProperty_StreamFormat,
      { refCon, unit, id, scope, element in
        let me = Unmanaged<Forms>.fromOpaque(refCon).takeUnretainedValue()
        _ = me
      }, Unmanaged.passUnretained(self).toOpaque())
    var d2 = AudioComponentDescription()
    AudioComponentGetDescription(AudioComponentInstanceGetComponent(unit!), &d2)
    var size: UInt32 = 0
    var writable: DarwinBoolean = false
    AudioUnitGetPropertyInfo(
      unit!, kAudioUnitProperty_ClassInfo, kAudioUnitScope_Global, 0, &size, &writable)
    if writable.boolValue { print("w") }
    var info: Unmanaged<CFPropertyList>?
    AudioUnitGetProperty(
      unit!, kAudioUnitProperty_ClassInfo, kAudioUnitScope_Global, 0, &info, &size)
    var plist: CFPropertyList = NSDictionary()
    withUnsafePointer(to: &plist) {
      _ = AudioUnitSetProperty(
        unit!, kAudioUnitProperty_ClassInfo, kAudioUnitScope_Global, 0, $0,
        UInt32(MemoryLayout<CFPropertyList>.size))
    }
    var presetsRef: Unmanaged<CFArray>?
    AudioUnitGetProperty(
      unit!, kAudioUnitProperty_FactoryPresets, kAudioUnitScope_Global, 0, &presetsRef, &size)
    if let presets = presetsRef?.takeRetainedValue() {
      for i in 0..<CFArrayGetCount(presets) {
        let preset = CFArrayGetValueAtIndex(presets, i).assumingMemoryBound(to: AUPreset.self)
          .pointee
        print(preset.presetNumber, preset.presetName!.takeUnretainedValue() as String)
        let p2 = unsafeBitCast(CFArrayGetValueAtIndex(presets, i), to: UnsafePointer<AUPreset>.self)
        _ = p2.pointee.presetName?.takeUnretainedValue()
      }
    }
    var aupreset = AUPreset(presetNumber: 3, presetName: nil)
    AudioUnitSetProperty(
      unit!, kAudioUnitProperty_PresentPreset, kAudioUnitScope_Global, 0, &aupreset,
      UInt32(MemoryLayout<AUPreset>.size))
    var pinfo = AudioUnitParameterInfo()
    AudioUnitGetProperty(
      unit!, kAudioUnitProperty_ParameterInfo, kAudioUnitScope_Global, 0, &pinfo, &size)
    if pinfo.flags.contains(.flag_HasCFNameString), let s = pinfo.cfNameString {
      print(s.takeUnretainedValue() as String)
    }
    switch pinfo.unit {
    case .decibels, .midiController, .phase: break;
    default: break
    }
    AudioUnitSetParameter(unit!, kMultiChannelMixerParam_Volume, kAudioUnitScope_Input, 0, 0.5, 0)
    AUListenerCreate(
      { user, object, parameter, value in }, nil, CFRunLoopGetCurrent(),
      CFRunLoopMode.commonModes.rawValue, 0.1, &listener)
    var event = AudioUnitEvent()
    event.mEventType = .parameterValueChange
    event.mArgument.mParameter.mAudioUnit = unit!
  }
  var listener: AUParameterListenerRef?

  let render: AURenderCallback = {
    inRefCon, ioActionFlags, inTimeStamp, inBusNumber, inNumberFrames, ioData in
    let me = Unmanaged<Forms>.fromOpaque(inRefCon).takeUnretainedValue()
    let abl = UnsafeMutableAudioBufferListPointer(ioData)!
    for buffer in abl { memset(buffer.mData!, 0, Int(buffer.mDataByteSize)) }
    for i in 0..<abl.count {
      let ptr: UnsafeMutableBufferPointer<Float> = UnsafeMutableBufferPointer(abl[i]); _ = ptr.count
    }
    ioActionFlags.pointee.insert(.unitRenderAction_OutputIsSilence)
    var bufferList = AudioBufferList(
      mNumberBuffers: 1, mBuffers: AudioBuffer(mNumberChannels: 1, mDataByteSize: 0, mData: nil))
    var flags = AudioUnitRenderActionFlags()
    let status = AudioUnitRender(
      me.unit!, ioActionFlags, inTimeStamp, 1, inNumberFrames, &bufferList)
    _ = AudioUnitRender(me.unit!, &flags, inTimeStamp, 1, inNumberFrames, &bufferList)
    return status
  }

  func devices() {
    var address = AudioObjectPropertyAddress(
      mSelector: AudioObjectPropertySelector(kAudioHardwarePropertyDevices),
      mScope: AudioObjectPropertyScope(kAudioObjectPropertyScopeGlobal),
      mElement: AudioObjectPropertyElement(kAudioObjectPropertyElementMaster))
    var size: UInt32 = 0
    guard AudioObjectHasProperty(AudioObjectID(kAudioObjectSystemObject), &address) else { return }
    AudioObjectGetPropertyDataSize(AudioObjectID(kAudioObjectSystemObject), &address, 0, nil, &size)
    var ids = [AudioDeviceID](repeating: 0, count: Int(size) / MemoryLayout<AudioDeviceID>.size)
    AudioObjectGetPropertyData(
      AudioObjectID(kAudioObjectSystemObject), &address, 0, nil, &size, &ids)
    for id in ids {
      var name: CFString = "" as CFString
      var nameRef: Unmanaged<CFString>? = nil
      var addr = AudioObjectPropertyAddress(
        mSelector: kAudioDevicePropertyDeviceNameCFString, mScope: kAudioObjectPropertyScopeGlobal,
        mElement: kAudioObjectPropertyElementMain)
      var s = UInt32(MemoryLayout<CFString>.size)
      AudioObjectGetPropertyData(id, &addr, 0, nil, &s, &nameRef)
      withUnsafeMutablePointer(to: &name) {
        _ = AudioObjectGetPropertyData(id, &addr, 0, nil, &s, $0)
      }
      print(name as String)
      addr.mSelector = kAudioDevicePropertyStreamConfiguration
      AudioObjectGetPropertyDataSize(id, &addr, 0, nil, &s)
      let list = UnsafeMutablePointer<AudioBufferList>.allocate(capacity: Int(s))
      defer { list.deallocate() }
      AudioObjectGetPropertyData(id, &addr, 0, nil, &s, list)
      let channels = UnsafeMutableAudioBufferListPointer(list).reduce(0) {
        $0 + Int($1.mNumberChannels)
      }
      print(channels)
      var settable: DarwinBoolean = false
      AudioObjectIsPropertySettable(id, &addr, &settable)
    }
    let block: AudioObjectPropertyListenerBlock = { (count, addresses) in
      print(count, addresses[0].mSelector)
    }
    AudioObjectAddPropertyListenerBlock(
      AudioObjectID(kAudioObjectSystemObject), &address, DispatchQueue.main, block)
    AudioObjectAddPropertyListenerBlock(AudioObjectID(kAudioObjectSystemObject), &address, nil) {
      _, _ in
    }
    AudioObjectAddPropertyListener(
      1, &address, { (id, n, a, client) -> OSStatus in return noErr }, nil)
    let dict: [String: Any] = [
      kAudioAggregateDeviceNameKey: "a", kAudioAggregateDeviceUIDKey: "b",
      kAudioAggregateDeviceSubDeviceListKey: [[kAudioSubDeviceUIDKey: "c"]],
      kAudioAggregateDeviceIsPrivateKey: true,
    ]
    var agg: AudioDeviceID = 0
    AudioHardwareCreateAggregateDevice(dict as CFDictionary, &agg)
    var proc: AudioDeviceIOProcID?
    AudioDeviceCreateIOProcID(
      agg, { (dev, now, inData, inTime, outData, outTime, client) -> OSStatus in return noErr },
      nil, &proc)
    AudioDeviceCreateIOProcIDWithBlock(&proc, agg, nil) {
      inNow, inInputData, inInputTime, outOutputData, inOutputTime in
      let b = UnsafeMutableAudioBufferListPointer(UnsafeMutablePointer(mutating: inInputData))
      print(b.first?.mNumberChannels ?? 0)
    }
    AudioDeviceStart(agg, proc)
    var vol: Float32 = 0
    addr2.mSelector = kAudioHardwareServiceDeviceProperty_VirtualMainVolume
    _ = vol; vol = 1
  }
  var addr2 = AudioObjectPropertyAddress()

  func files(_ url: URL) throws {
    var f: AudioFileID?
    guard
      AudioFileOpenURL(url as CFURL, AudioFilePermissions.readPermission, kAudioFileMP3Type, &f)
        == noErr
    else { throw NSError(domain: NSOSStatusErrorDomain, code: Int(-1), userInfo: nil) }
    var size: UInt32 = 0
    var writable: UInt32 = 0
    AudioFileGetPropertyInfo(f!, kAudioFilePropertyInfoDictionary, &size, &writable)
    var dict: CFDictionary? = nil
    withUnsafeMutablePointer(to: &dict) {
      _ = AudioFileGetProperty(f!, kAudioFilePropertyInfoDictionary, &size, $0)
    }
    if let cf = dict as? [String: AnyObject] { print(cf) }
    var format = AudioStreamBasicDescription(
      mSampleRate: 44100.0, mFormatID: kAudioFormatLinearPCM,
      mFormatFlags: kAudioFormatFlagsNativeFloatPacked | kAudioFormatFlagIsNonInterleaved,
      mBytesPerPacket: 4, mFramesPerPacket: 1, mBytesPerFrame: 4, mChannelsPerFrame: 2,
      mBitsPerChannel: 32, mReserved: 0)
    format.mFormatFlags = AudioFormatFlags(kAudioFormatFlagIsFloat) | kLinearPCMFormatFlagIsPacked
    ExtAudioFileOpenURL(url as CFURL, &file)
    ExtAudioFileCreateWithURL(
      url as CFURL, kAudioFileM4AType, &format, nil, AudioFileFlags.eraseFile.rawValue, &file)
    ExtAudioFileSetProperty(
      file!, kExtAudioFileProperty_ClientDataFormat,
      UInt32(MemoryLayout<AudioStreamBasicDescription>.size), &format)
    let abl = AudioBufferList.allocate(maximumBuffers: 2)
    abl[0] = AudioBuffer(mNumberChannels: 1, mDataByteSize: 4096, mData: malloc(4096))
    var frames: UInt32 = 1024
    ExtAudioFileRead(file!, &frames, abl.unsafeMutablePointer)
    ExtAudioFileWrite(file!, frames, abl.unsafePointer)
    ExtAudioFileWriteAsync(file!, 0, nil)
    AudioFileCreateWithURL(url as CFURL, kAudioFileCAFType, &format, [.eraseFile], &f)
    var ssid: SystemSoundID = 0
    AudioServicesCreateSystemSoundID(url as CFURL, &ssid)
    AudioServicesPlaySystemSoundWithCompletion(ssid) { AudioServicesDisposeSystemSoundID(ssid) }
    AudioServicesPlaySystemSound(kSystemSoundID_Vibrate)
    AudioServicesPlayAlertSound(SystemSoundID(kSystemSoundID_UserPreferredAlert))
    AudioServicesAddSystemSoundCompletion(
      ssid, nil, nil, { id, data in AudioServicesRemoveSystemSoundCompletion(id) }, nil)
    var cls = AudioClassDescription(
      mType: kAudioEncoderComponentType, mSubType: kAudioFormatMPEG4AAC,
      mManufacturer: kAppleSoftwareAudioCodecManufacturer)
    AudioConverterNewSpecific(&format, &format, 1, &cls, &converter)
    var packets: UInt32 = 1
    var pd = AudioStreamPacketDescription()
    AudioConverterFillComplexBuffer(
      converter!,
      { (conv, ioPackets, ioData, outDesc, user) -> OSStatus in
        ioData.pointee.mBuffers.mData = nil
        let list = UnsafeMutableAudioBufferListPointer(ioData)
        list[0].mDataByteSize = 0
        outDesc?.pointee = nil
        if let outDesc = outDesc {
          outDesc.pointee = user!.assumingMemoryBound(to: AudioStreamPacketDescription.self)
        }
        ioPackets.pointee = 0
        return noErr
      }, nil, &packets, abl.unsafeMutablePointer, &pd)
    AudioFormatGetProperty(kAudioFormatProperty_FormatInfo, 0, nil, &size, &format)
    AudioFileStreamOpen(
      Unmanaged.passUnretained(self).toOpaque(),
      { (client, stream, id, flags) in
        let me = Unmanaged<Forms>.fromOpaque(client).takeUnretainedValue()
        _ = me
      },
      { (client, bytes, packets, data, descriptions) in
        for i in 0..<Int(packets) {
          if let d = descriptions?[i] { print(d.mStartOffset, data + Int(d.mStartOffset)) }
        }
      }, 0, &stream)
    AudioFileStreamParseBytes(stream!, 0, abl.unsafePointer, AudioFileStreamParseFlags(rawValue: 0))
    AudioFileStreamParseBytes(stream!, 0, abl.unsafePointer, .discontinuity)
    let cfurl = CFURLCreateWithFileSystemPath(
      kCFAllocatorDefault, "/a" as CFString, .cfurlposixPathStyle, false)
    AudioFileOpenURL(cfurl!, .readPermission, 0, &f)
    let path = "/tmp/a.caf"
    let u2 = CFURLCreateFromFileSystemRepresentation(nil, path, path.utf8.count, false)
    AudioFileOpenURL(u2!, .readPermission, 0, &f)
    let u3: CFURL = CFURLCreateFromFileSystemRepresentation(nil, path, path.utf8.count, false)!
    AudioFileOpenURL(u3, .readPermission, 0, &f)
    if let ns = NSURL(string: "file:///a") {
      AudioFileOpenURL(ns, .readPermission, 0, &f);
      AudioFileOpenURL(ns as CFURL, .readPermission, 0, &f)
    }
    AudioFileOpenURL(NSURL(fileURLWithPath: path), .readPermission, 0, &f)
    let info: NSDictionary = [kAFInfoDictionary_Artist: "x"]
    var cfinfo = info as CFDictionary
    withUnsafePointer(to: &cfinfo) {
      _ = AudioFileSetProperty(
        f!, kAudioFilePropertyInfoDictionary, UInt32(MemoryLayout<CFDictionary>.size), $0)
    }
    var cd: Unmanaged<CFData>?
    AudioFileGetProperty(f!, kAudioFilePropertyAlbumArtwork, &size, &cd)
    if let data = cd?.takeRetainedValue() as Data? { print(data.count) }
    var ts = AudioTimeStamp()
    ts.mFlags = .sampleTimeValid
    ts.mFlags = [.sampleTimeValid, .hostTimeValid]
    var region = ScheduledAudioFileRegion(
      mTimeStamp: ts, mCompletionProc: { user, region, status in }, mCompletionProcUserData: nil,
      mAudioFile: f!, mLoopCount: 1, mStartFrame: 0, mFramesToPlay: UInt32(100))
    AudioUnitSetProperty(
      unit!, kAudioUnitProperty_ScheduledFileRegion, kAudioUnitScope_Global, 0, &region,
      UInt32(MemoryLayout<ScheduledAudioFileRegion>.size))
  }

  func queues() {
    var format = AudioStreamBasicDescription()
    AudioQueueNewInput(
      &format,
      { userData, queue, buffer, startTime, numPackets, descs in
        let me = Unmanaged<Forms>.fromOpaque(userData!).takeUnretainedValue()
        _ = me
        var size = buffer.pointee.mAudioDataByteSize
        _ = size; size = 0
        AudioQueueEnqueueBuffer(queue, buffer, 0, nil)
      }, Unmanaged.passUnretained(self).toOpaque(), .none, .none, 0, &queue)
    AudioQueueNewOutput(
      &format, { _, _, _ in }, nil, CFRunLoopGetMain(), CFRunLoopMode.defaultMode.rawValue, 0,
      &queue)
    AudioQueueNewInputWithDispatchQueue(&queue, &format, 0, DispatchQueue.global()) {
      q, b, ts, n, d in
    }
    var tap: AudioQueueProcessingTapRef?
    var max: UInt32 = 0
    AudioQueueProcessingTapNew(
      queue!,
      { clientData, tap, frames, ts, flags, out, list in
        let me = Unmanaged<Forms>.fromOpaque(clientData).takeUnretainedValue()
        _ = me
        AudioQueueProcessingTapGetSourceAudio(tap, frames, ts, flags, out, list)
      }, nil, .postEffects, &max, &format, &tap)
    AudioQueueProcessingTapNew(
      queue!, { _, _, _, _, _, _, _ in }, nil, [.preEffects, .siphon], &max, &format, &tap)
    var buffer: AudioQueueBufferRef?
    AudioQueueAllocateBufferWithPacketDescriptions(queue!, 1000, 10, &buffer)
    buffer!.pointee.mPacketDescriptions?[0].mDataByteSize = 1
    buffer!.pointee.mAudioData.assumingMemoryBound(to: Int16.self)[0] = 1
    var level = [AudioQueueLevelMeterState](repeating: AudioQueueLevelMeterState(), count: 2)
    var size = UInt32(MemoryLayout<AudioQueueLevelMeterState>.size * 2)
    AudioQueueGetProperty(queue!, kAudioQueueProperty_CurrentLevelMeterDB, &level, &size)
    AudioQueueStart(queue!, nil)
    var disc: DarwinBoolean = DarwinBoolean(false)
    AudioQueueGetCurrentTime(queue!, nil, nil, &disc)
  }

  func graphs() {
    NewAUGraph(&graph)
    var node = AUNode()
    var desc = AudioComponentDescription()
    AUGraphAddNode(graph!, &desc, &node)
    AUGraphOpen(graph!)
    AUGraphNodeInfo(graph!, node, nil, &unit)
    var running: DarwinBoolean = false
    AUGraphIsRunning(graph!, &running)
    if running == true { AUGraphStop(graph!) }
    AUGraphUpdate(graph!, nil)
    CAShow(UnsafeMutableRawPointer(graph!))
    AudioComponentInstantiate(
      AudioComponentFindNext(nil, &desc)!, [], { unit, status in print(unit as Any, status) })
    AudioComponentInstantiate(AudioComponentFindNext(nil, &desc)!, .loadOutOfProcess) {
      unit, status in
    }
    var info = mach_timebase_info_data_t()
    mach_timebase_info(&info)
    var tb = mach_timebase_info()
    mach_timebase_info(&tb)
    _ = mach_absolute_time() * UInt64(info.numer) / UInt64(info.denom)
    let e = CFSwapInt32HostToBig(UInt32(bitPattern: kAudioFileUnsupportedFileTypeError))
    print(e)
    let layout = AudioChannelLayout()
    var l2 = layout
    l2.mChannelLayoutTag = kAudioChannelLayoutTag_Stereo
    _ = AudioChannelLayoutTag_GetNumberOfChannels(l2.mChannelLayoutTag)
    _ = kAudioAggregateDeviceIsStackedKey
    let q: UInt32 = kAudioConverterQuality_Max
    let r = UInt32(kRenderQuality_Max)
    _ = (q, r)
    CFRunLoopRunInMode(CFRunLoopMode.defaultMode, 0.01, false)
    CFRunLoopRunInMode(.defaultMode, 0.01, false)
    let timer = CFRunLoopTimerCreateWithHandler(nil, CFAbsoluteTimeGetCurrent(), 1, 0, 0) { _ in }
    CFRunLoopAddTimer(CFRunLoopGetCurrent(), timer, .commonModes)
    CFShow("a" as CFString)
    let typeID = CFGetTypeID("a" as CFString)
    if typeID == CFStringGetTypeID() {}
    let dd = ["a": 1] as CFDictionary
    if let v = CFDictionaryGetValue(dd, Unmanaged.passUnretained("a" as CFString).toOpaque()) {
      print(v)
    }
    let aa = [1, 2, 3] as NSArray as CFArray
    print(CFArrayGetCount(aa))
    let swiftArray = aa as! [Int]
    print(swiftArray)
  }
}
