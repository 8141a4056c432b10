import AudioUnits
public import CAudioToolbox
import CRealTime
import Hardware
import RealTime

// The functions of AUComponent.h and AudioOutputUnit.h. The headers document each function.

/// Runs the body of a C function with a unit.
func withUnit(
  _ reference: AudioUnit?, _ function: String, needs pointers: UnsafeRawPointer?...,
  body: (UnitHandle) throws(AudioUnitError) -> Void
) -> OSStatus {
  answer(function) { () throws(AudioUnitError) in
    let unit = unsafe try UnitHandles.shared.unit(reference)
    if unsafe hasNull(pointers) { throw .badArgument("a pointer is NULL") }
    try body(unit)
  }
}

/// Throws the error that a unit of the app has returned.
private func checkForeign(_ status: OSStatus) throws(AudioUnitError) {
  if status != noErr { throw .unit(.status(status)) }
}

/// Prepares a unit to render.
@c @implementation
public func AudioUnitInitialize(_ inUnit: AudioUnit) -> OSStatus {
  unsafe withUnit(inUnit, "AudioUnitInitialize") { unit throws(AudioUnitError) in
    try onUnit(unit.unit.initialize())
  }
}

/// Stops a unit and frees what it renders with.
@c @implementation
public func AudioUnitUninitialize(_ inUnit: AudioUnit) -> OSStatus {
  unsafe withUnit(inUnit, "AudioUnitUninitialize") { unit in unit.unit.uninitialize() }
}

// MARK: Properties

/// Stores the size of a property's value, and whether it can be set.
@c @implementation
public func AudioUnitGetPropertyInfo(
  _ inUnit: AudioUnit, _ inID: AudioUnitPropertyID, _ inScope: AudioUnitScope,
  _ inElement: AudioUnitElement, _ outDataSize: UnsafeMutablePointer<UInt32>?,
  _ outWritable: UnsafeMutablePointer<Bool>?
) -> OSStatus {
  unsafe withUnit(inUnit, "AudioUnitGetPropertyInfo") { unit throws(AudioUnitError) in
    if let foreign = unit.foreign {
      return try checkForeign(
        unsafe foreign.propertyInfo(inID, inScope, inElement, outDataSize, outWritable))
    }
    let entry = try unsafe UnitProperty(unit, inID, inScope, inElement).entry()
    let size = try entry.size
    unsafe outDataSize?.pointee = UInt32(size)
    unsafe outWritable?.pointee = entry.write != nil
  }
}

/// Copies a property's value.
@c @implementation
public func AudioUnitGetProperty(
  _ inUnit: AudioUnit, _ inID: AudioUnitPropertyID, _ inScope: AudioUnitScope,
  _ inElement: AudioUnitElement, _ outData: UnsafeMutableRawPointer,
  _ ioDataSize: UnsafeMutablePointer<UInt32>
) -> OSStatus {
  unsafe withUnit(inUnit, "AudioUnitGetProperty", needs: ioDataSize) {
    unit throws(AudioUnitError) in
    if let foreign = unit.foreign {
      return try checkForeign(
        unsafe foreign.property(inID, inScope, inElement, outData, ioDataSize))
    }
    let entry = try unsafe UnitProperty(
      unit, inID, inScope, inElement, outData, ioDataSize.pointee
    ).entry()
    if UInt(bitPattern: outData) == 0 {
      // The size alone.
      unsafe ioDataSize.pointee = UInt32(try entry.size)
      return
    }
    guard let value = try entry.read?() else { throw .unit(.invalidProperty(inID)) }
    let memory = unsafe UnsafeMutableRawBufferPointer(
      start: outData, count: Int(ioDataSize.pointee))
    unsafe ioDataSize.pointee = UInt32(value.writePart(to: memory))
  }
}

/// Sets a property.
@c @implementation
public func AudioUnitSetProperty(
  _ inUnit: AudioUnit, _ inID: AudioUnitPropertyID, _ inScope: AudioUnitScope,
  _ inElement: AudioUnitElement, _ inData: UnsafeRawPointer?, _ inDataSize: UInt32
) -> OSStatus {
  unsafe withUnit(inUnit, "AudioUnitSetProperty") { unit throws(AudioUnitError) in
    if let foreign = unit.foreign {
      return try checkForeign(
        unsafe foreign.setProperty(inID, inScope, inElement, inData, inDataSize))
    }
    let property = unsafe UnitProperty(unit, inID, inScope, inElement, inData, inDataSize)
    guard let write = try property.entry().write else {
      throw .unit(.notWritable("the property \(inID) cannot be set"))
    }
    try write()
  }
}

/// Adds a function to call after each change of a property.
@c @implementation
public func AudioUnitAddPropertyListener(
  _ inUnit: AudioUnit, _ inID: AudioUnitPropertyID,
  _ inProc: @escaping AudioUnitPropertyListenerProc, _ inProcUserData: UnsafeMutableRawPointer?
) -> OSStatus {
  unsafe withUnit(
    inUnit, "AudioUnitAddPropertyListener", needs: unsafeBitCast(inProc, to: UnsafeRawPointer?.self)
  ) { unit throws(AudioUnitError) in
    if let foreign = unit.foreign {
      return try checkForeign(
        unsafe foreign.addListener(
          inID, unsafeBitCast(inProc, to: UnsafeMutableRawPointer.self), inProcUserData))
    }
    unsafe unit.add(inProc, inProcUserData, inID)
  }
}

/// Removes a function that was added with the same data.
@c @implementation
public func AudioUnitRemovePropertyListenerWithUserData(
  _ inUnit: AudioUnit, _ inID: AudioUnitPropertyID,
  _ inProc: @escaping AudioUnitPropertyListenerProc, _ inProcUserData: UnsafeMutableRawPointer?
) -> OSStatus {
  unsafe withUnit(
    inUnit, "AudioUnitRemovePropertyListenerWithUserData",
    needs: unsafeBitCast(inProc, to: UnsafeRawPointer?.self)
  ) { unit throws(AudioUnitError) in
    if let foreign = unit.foreign {
      return try checkForeign(
        unsafe foreign.removeListener(
          inID, unsafeBitCast(inProc, to: UnsafeMutableRawPointer.self), .some(inProcUserData)))
    }
    unsafe unit.remove(inProc, .some(inProcUserData), inID)
  }
}

/// Removes a function, whatever its data.
@c @implementation
public func AudioUnitRemovePropertyListener(
  _ inUnit: AudioUnit, _ inID: AudioUnitPropertyID,
  _ inProc: @escaping AudioUnitPropertyListenerProc
) -> OSStatus {
  unsafe withUnit(
    inUnit, "AudioUnitRemovePropertyListener",
    needs: unsafeBitCast(inProc, to: UnsafeRawPointer?.self)
  ) { unit throws(AudioUnitError) in
    if let foreign = unit.foreign {
      return try checkForeign(
        unsafe foreign.removeListener(
          inID, unsafeBitCast(inProc, to: UnsafeMutableRawPointer.self), nil))
    }
    unsafe unit.remove(inProc, nil, inID)
  }
}

/// Adds a function to call before and after each render.
@c @implementation
public func AudioUnitAddRenderNotify(
  _ inUnit: AudioUnit, _ inProc: @escaping AURenderCallback,
  _ inProcUserData: UnsafeMutableRawPointer?
) -> OSStatus {
  unsafe withUnit(
    inUnit, "AudioUnitAddRenderNotify", needs: unsafeBitCast(inProc, to: UnsafeRawPointer?.self)
  ) { unit throws(AudioUnitError) in
    try unsafe onUnit(
      unit.unit.add(
        UnitNotify(unsafeBitCast(inProc, to: cue_render_proc.self), inProcUserData)))
  }
}

/// Removes such a function.
@c @implementation
public func AudioUnitRemoveRenderNotify(
  _ inUnit: AudioUnit, _ inProc: @escaping AURenderCallback,
  _ inProcUserData: UnsafeMutableRawPointer?
) -> OSStatus {
  unsafe withUnit(
    inUnit, "AudioUnitRemoveRenderNotify", needs: unsafeBitCast(inProc, to: UnsafeRawPointer?.self)
  ) { unit throws(AudioUnitError) in
    try unsafe onUnit(
      unit.unit.remove(
        UnitNotify(unsafeBitCast(inProc, to: cue_render_proc.self), inProcUserData)))
  }
}

// MARK: Real time

/// Returns a unit that stays until `cue_rt_leave_unit`; nil if there is none.
@_noLocks func enter(_ reference: AudioUnit) -> UnsafeMutablePointer<RenderUnit>? {
  guard let unit = unsafe cue_rt_enter_unit(UInt(bitPattern: reference)) else { return nil }
  return unsafe unit.assumingMemoryBound(to: RenderUnit.self)
}

@_noLocks func isNull(_ pointer: UnsafeRawPointer?) -> Bool {
  UInt(bitPattern: pointer) == 0
}

/// The error for a number that stands for no unit: `badComponentInstance`.
var noSuchUnit: OSStatus { @_noLocks get { OSStatus(bitPattern: 0x8000_8001) } }

/// Returns a parameter. Real-time safe.
@c @implementation @_noLocks
public func AudioUnitGetParameter(
  _ inUnit: AudioUnit, _ inID: AudioUnitParameterID, _ inScope: AudioUnitScope,
  _ inElement: AudioUnitElement, _ outValue: UnsafeMutablePointer<AudioUnitParameterValue>
) -> OSStatus {
  guard let unit = unsafe enter(inUnit) else { return noSuchUnit }
  var status = RenderError.badArgument
  if unsafe !isNull(outValue) {
    status = unsafe unit.pointee.parameter(
      inID, scope: inScope, element: inElement, into: outValue)
  }
  cue_rt_leave_unit(UInt(bitPattern: inUnit))
  return status
}

/// Sets a parameter. Real-time safe.
@c @implementation @_noLocks
public func AudioUnitSetParameter(
  _ inUnit: AudioUnit, _ inID: AudioUnitParameterID, _ inScope: AudioUnitScope,
  _ inElement: AudioUnitElement, _ inValue: AudioUnitParameterValue,
  _ inBufferOffsetInFrames: UInt32
) -> OSStatus {
  guard let unit = unsafe enter(inUnit) else { return noSuchUnit }
  var status: OSStatus
  if inScope == kAudioUnitScope_Group, unsafe !unit.pointee.isForeign() {
    status = unsafe send(
      group: inID, inElement, inValue, offset: Int(inBufferOffsetInFrames), to: unit)
  } else if inBufferOffsetInFrames == 0 {
    status = unsafe unit.pointee.setParameter(
      inID, scope: inScope, element: inElement, to: inValue)
  } else {
    status = unsafe unit.pointee.schedule(
      inID, scope: inScope, element: inElement, start: Int(inBufferOffsetInFrames), frames: 0,
      from: inValue, to: inValue)
  }
  cue_rt_leave_unit(UInt(bitPattern: inUnit))
  return status
}

/// Schedules changes of parameters for the next render. Real-time safe.
@c @implementation @_noLocks
public func AudioUnitScheduleParameters(
  _ inUnit: AudioUnit, _ inParameterEvent: UnsafePointer<AudioUnitParameterEvent>,
  _ inNumParamEvents: UInt32
) -> OSStatus {
  guard let unit = unsafe enter(inUnit) else { return noSuchUnit }
  var status: OSStatus = unsafe isNull(inParameterEvent) ? RenderError.badArgument : 0
  var count = Int(inNumParamEvents)
  if status == 0,
    let handed = unsafe unit.pointee.schedule(events: inParameterEvent, count: count)
  {
    status = handed
    count = 0
  }
  for i in 0..<count where status == 0 {
    let event = unsafe inParameterEvent[i]
    if event.eventType == .parameterEvent_Ramped {
      let ramp = unsafe event.eventValues.ramp
      status = unsafe unit.pointee.schedule(
        event.parameter, scope: event.scope, element: event.element,
        start: Int(ramp.startBufferOffset), frames: Int(ramp.durationInFrames),
        from: ramp.startValue, to: ramp.endValue)
    } else if event.eventType == .parameterEvent_Immediate {
      let change = unsafe event.eventValues.immediate
      status = unsafe unit.pointee.schedule(
        event.parameter, scope: event.scope, element: event.element,
        start: Int(change.bufferOffset), frames: 0, from: change.value, to: change.value)
    } else {
      status = RenderError.badArgument
    }
  }
  cue_rt_leave_unit(UInt(bitPattern: inUnit))
  return status
}

/// Forgets the sound of earlier renders. Real-time safe.
@c @implementation @_noLocks
public func AudioUnitReset(
  _ inUnit: AudioUnit, _ inScope: AudioUnitScope, _ inElement: AudioUnitElement
) -> OSStatus {
  guard let unit = unsafe enter(inUnit) else { return noSuchUnit }
  let status = unsafe unit.pointee.reset(scope: inScope, element: inElement)
  cue_rt_leave_unit(UInt(bitPattern: inUnit))
  return status
}

/// Renders frames of an output. Real-time safe.
@c @implementation @_noLocks
public func AudioUnitRender(
  _ inUnit: AudioUnit, _ ioActionFlags: UnsafeMutablePointer<AudioUnitRenderActionFlags>?,
  _ inTimeStamp: UnsafePointer<AudioTimeStamp>, _ inOutputBusNumber: UInt32,
  _ inNumberFrames: UInt32, _ ioData: UnsafeMutablePointer<AudioBufferList>
) -> OSStatus {
  guard let unit = unsafe enter(inUnit) else { return noSuchUnit }
  var status = RenderError.badArgument
  if unsafe !isNull(inTimeStamp) && !isNull(ioData) {
    var own: UInt32 = 0
    let time = unsafe UnsafeRawPointer(inTimeStamp).assumingMemoryBound(to: cue_time_stamp.self)
    let list = unsafe UnsafeMutableRawPointer(ioData).assumingMemoryBound(to: cue_buffer_list.self)
    if let flags = unsafe ioActionFlags {
      status = unsafe unit.pointee.render(
        UnsafeMutableRawPointer(flags).assumingMemoryBound(to: UInt32.self), time,
        bus: Int(inOutputBusNumber), frames: Int(inNumberFrames), list)
    } else {
      status = unsafe unit.pointee.render(
        &own, time, bus: Int(inOutputBusNumber), frames: Int(inNumberFrames), list)
    }
  }
  cue_rt_leave_unit(UInt(bitPattern: inUnit))
  return status
}

/// Renders the first output from given samples, in their place. Real-time safe.
@c @implementation @_noLocks
public func AudioUnitProcess(
  _ inUnit: AudioUnit, _ ioActionFlags: UnsafeMutablePointer<AudioUnitRenderActionFlags>?,
  _ inTimeStamp: UnsafePointer<AudioTimeStamp>, _ inNumberFrames: UInt32,
  _ ioData: UnsafeMutablePointer<AudioBufferList>
) -> OSStatus {
  if unsafe isNull(inTimeStamp) || isNull(ioData) { return RenderError.badArgument }
  var list = unsafe UnsafeMutableRawPointer(ioData).assumingMemoryBound(to: cue_buffer_list.self)
  return unsafe process(
    inUnit, ioActionFlags, inTimeStamp, inNumberFrames, &list, 1, &list, 1)
}

/// Renders outputs from given samples. Real-time safe.
@c @implementation @_noLocks
public func AudioUnitProcessMultiple(
  _ inUnit: AudioUnit, _ ioActionFlags: UnsafeMutablePointer<AudioUnitRenderActionFlags>?,
  _ inTimeStamp: UnsafePointer<AudioTimeStamp>, _ inNumberFrames: UInt32,
  _ inNumberInputBufferLists: UInt32,
  _ inInputBufferLists: UnsafeMutablePointer<UnsafePointer<AudioBufferList>>,
  _ inNumberOutputBufferLists: UInt32,
  _ ioOutputBufferLists: UnsafeMutablePointer<UnsafeMutablePointer<AudioBufferList>>
) -> OSStatus {
  if unsafe isNull(inTimeStamp)
    || inNumberInputBufferLists > 0 && isNull(inInputBufferLists)
    || inNumberOutputBufferLists > 0 && isNull(ioOutputBufferLists)
  {
    return RenderError.badArgument
  }
  let inputs = unsafe UnsafeMutableRawPointer(inInputBufferLists).assumingMemoryBound(
    to: UnsafeMutablePointer<cue_buffer_list>.self)
  let outputs = unsafe UnsafeMutableRawPointer(ioOutputBufferLists).assumingMemoryBound(
    to: UnsafeMutablePointer<cue_buffer_list>.self)
  return unsafe process(
    inUnit, ioActionFlags, inTimeStamp, inNumberFrames, inputs, Int(inNumberInputBufferLists),
    outputs, Int(inNumberOutputBufferLists))
}

@_noLocks private func process(
  _ reference: AudioUnit, _ flags: UnsafeMutablePointer<AudioUnitRenderActionFlags>?,
  _ time: UnsafePointer<AudioTimeStamp>, _ frames: UInt32,
  _ inputs: UnsafePointer<UnsafeMutablePointer<cue_buffer_list>>, _ inputCount: Int,
  _ outputs: UnsafePointer<UnsafeMutablePointer<cue_buffer_list>>, _ outputCount: Int
) -> OSStatus {
  guard let unit = unsafe enter(reference) else { return noSuchUnit }
  var own: UInt32 = 0
  let time = unsafe UnsafeRawPointer(time).assumingMemoryBound(to: cue_time_stamp.self)
  let status = unsafe unit.pointee.process(
    &own, time, frames: Int(frames), inputs, inputCount: inputCount, outputs,
    outputCount: outputCount)
  if let flags = unsafe flags {
    unsafe flags.pointee = AudioUnitRenderActionFlags(rawValue: flags.pointee.rawValue | own)
  }
  cue_rt_leave_unit(UInt(bitPattern: reference))
  return status
}

// MARK: Output units

private func output(_ unit: UnitHandle) throws(AudioUnitError) -> OutputUnit {
  guard let output = unit.output else {
    throw .badArgument("\(unit.unit.name) belongs to no device")
  }
  return output
}

/// Starts an output unit. Its callbacks may call this.
@c @implementation
public func AudioOutputUnitStart(_ ci: AudioUnit) -> OSStatus {
  CallbackChecks.excepting {
    unsafe withUnit(ci, "AudioOutputUnitStart") { unit throws(AudioUnitError) in
      if let foreign = unit.foreign {
        return try onUnit(foreign.start(true))
      }
      let output = try output(unit)
      try onUnit(output.start())
    }
  }
}

/// Stops an output unit. Its callbacks may call this.
@c @implementation
public func AudioOutputUnitStop(_ ci: AudioUnit) -> OSStatus {
  CallbackChecks.excepting {
    unsafe withUnit(ci, "AudioOutputUnitStop") { unit throws(AudioUnitError) in
      if let foreign = unit.foreign {
        return try onUnit(foreign.start(false))
      }
      try output(unit).stop()
    }
  }
}
