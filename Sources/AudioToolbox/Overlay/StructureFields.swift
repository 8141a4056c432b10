// The C headers have the documentation.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

public import CAudioToolbox
public import CoreFoundation

// Fields of C structures that hold a string, with Foundation's class.

extension AudioFileMarker {
  public var mName: Unmanaged<CFString>? {
    get { unsafe retyped(__mName) }
    set { unsafe __mName = retyped(newValue) }
  }
}

extension AudioFileRegion {
  public var mName: Unmanaged<CFString>? {
    get { unsafe retyped(__mName) }
    set { unsafe __mName = retyped(newValue) }
  }
}

extension AudioQueueChannelAssignment {
  public init(mDeviceUID: Unmanaged<CFString>?, mChannelNumber: UInt32) {
    unsafe self.init(__mDeviceUID: retyped(mDeviceUID), mChannelNumber: mChannelNumber)
  }

  public var mDeviceUID: Unmanaged<CFString>? {
    get { unsafe retyped(__mDeviceUID) }
    set { unsafe __mDeviceUID = retyped(newValue) }
  }
}

extension AUPreset {
  public init(presetNumber: Int32, presetName: Unmanaged<CFString>?) {
    unsafe self.init(presetNumber: presetNumber, __presetName: retyped(presetName))
  }

  public var presetName: Unmanaged<CFString>? {
    get { unsafe retyped(__presetName) }
    set { unsafe __presetName = retyped(newValue) }
  }
}

extension AudioUnitParameterStringFromValue {
  public init(
    inParamID: AudioUnitParameterID, inValue: UnsafePointer<AudioUnitParameterValue>?,
    outString: Unmanaged<CFString>?
  ) {
    unsafe self.init(inParamID: inParamID, inValue: inValue, __outString: retyped(outString))
  }

  public var outString: Unmanaged<CFString>? {
    get { unsafe retyped(__outString) }
    set { unsafe __outString = retyped(newValue) }
  }
}

extension AudioUnitParameterValueFromString {
  public init(
    inParamID: AudioUnitParameterID, inString: Unmanaged<CFString>?,
    outValue: AudioUnitParameterValue
  ) {
    unsafe self.init(inParamID: inParamID, __inString: retyped(inString), outValue: outValue)
  }

  public var inString: Unmanaged<CFString>? {
    get { unsafe retyped(__inString) }
    set { unsafe __inString = retyped(newValue) }
  }
}

extension AudioUnitParameterNameInfo {
  public init(inID: UInt32, inDesiredLength: Int32, outName: Unmanaged<CFString>?) {
    unsafe self.init(inID: inID, inDesiredLength: inDesiredLength, __outName: retyped(outName))
  }

  public var outName: Unmanaged<CFString>? {
    get { unsafe retyped(__outName) }
    set { unsafe __outName = retyped(newValue) }
  }
}

extension AudioUnitParameterInfo {
  public var unitName: Unmanaged<CFString>? {
    get { unsafe retyped(__unitName) }
    set { unsafe __unitName = retyped(newValue) }
  }

  public var cfNameString: Unmanaged<CFString>? {
    get { unsafe retyped(__cfNameString) }
    set { unsafe __cfNameString = retyped(newValue) }
  }
}

extension MIDIObjectPropertyChangeNotification {
  public init(
    messageID: MIDINotificationMessageID, messageSize: UInt32, object: MIDIObjectRef,
    objectType: MIDIObjectType, propertyName: Unmanaged<CFString>
  ) {
    unsafe self.init(
      messageID: messageID, messageSize: messageSize, object: object, objectType: objectType,
      __propertyName: .fromOpaque(propertyName.toOpaque()))
  }

  public var propertyName: Unmanaged<CFString> {
    get { unsafe .fromOpaque(__propertyName.toOpaque()) }
    set { unsafe __propertyName = .fromOpaque(newValue.toOpaque()) }
  }
}

/// Returns the same reference for the other class of a string.
func retyped<From, To>(_ reference: Unmanaged<From>?) -> Unmanaged<To>? {
  guard let reference = unsafe reference else { return nil }
  return unsafe Unmanaged.fromOpaque(reference.toOpaque())
}
