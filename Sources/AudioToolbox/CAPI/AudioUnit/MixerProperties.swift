import AudioUnits
import CAudioToolbox

// The properties of mixers.

extension UnitProperty {
  /// Returns the value of a property of mixers; nil if it is none, or the unit has none.
  func mixerValue() throws(AudioUnitError) -> CopiedValue? {
    switch id {
    case kAudioUnitProperty_MeteringMode:
      let isOn = unit.isMetering(try side(), bus: Int(element))
      return isOn.map { CopiedValue(UInt32($0 ? 1 : 0)) }
    case kAudioUnitProperty_MatrixLevels:
      return (unit as? MatrixUnit).map { CopiedValue(array: $0.levels.flatMap { $0 }) }
    case kAudioUnitProperty_MatrixDimensions:
      return (unit as? MatrixUnit).map { matrix in
        let (inputs, outputs) = matrix.dimensions
        return CopiedValue(array: [UInt32(inputs), UInt32(outputs)])
      }
    case kAudioUnitProperty_3DMixerDistanceParams:
      return try distance().map {
        CopiedValue(
          MixerDistanceParams(
            mReferenceDistance: $0.reference, mMaxDistance: $0.most, mMaxAttenuation: $0.attenuation
          ))
      }
    case kAudioUnitProperty_SupportedChannelLayoutTags:
      guard unit is MixerUnit || unit is MatrixUnit else { return nil }
      let side = try side()
      _ = try asking { () throws(UnitError) in try unit.bus(side, element) }
      return CopiedValue(array: layoutTags(side))
    default: return nil
    }
  }

  /// The layouts whose channels a mixer treats as what they are; the last one stands for any number of
  /// channels in their order.
  private func layoutTags(_ side: Unit.Side) -> [AudioChannelLayoutTag] {
    if (unit as? MixerUnit)?.isStereo == true {
      return side == .output
        ? [kAudioChannelLayoutTag_Stereo]
        : [kAudioChannelLayoutTag_Mono, kAudioChannelLayoutTag_Stereo]
    }
    return [
      kAudioChannelLayoutTag_Mono, kAudioChannelLayoutTag_Stereo,
      kAudioChannelLayoutTag_DiscreteInOrder,
    ]
  }

  /// How the sound of the bus gets softer with its distance; nil if the unit is no 3D mixer.
  private func distance() throws(AudioUnitError) -> DistanceRange? {
    guard let mixer = unit as? MixerUnit, let range = mixer.distance(ofBus: Int(element)) else {
      return nil
    }
    guard element < mixer.busCount(.input) else { throw .unit(.invalidElement(element)) }
    return range
  }

  /// - Returns: False if the property is not one of the unit.
  func setMixerValue(_ data: UnsafeRawBufferPointer) throws(AudioUnitError) -> Bool {
    switch id {
    case kAudioUnitProperty_MeteringMode:
      let side = try side()
      guard unit.isMetering(side, bus: Int(element)) != nil else { return false }
      unit.setMetering(unsafe try input(data, UInt32.self) != 0, side, bus: Int(element))
    case kAudioUnitProperty_3DMixerDistanceParams:
      guard let mixer = unit as? MixerUnit, try distance() != nil else { return false }
      let wanted = unsafe try input(data, MixerDistanceParams.self)
      let values = [wanted.mReferenceDistance, wanted.mMaxDistance, wanted.mMaxAttenuation]
      guard values.allSatisfy({ $0.isFinite && $0 >= 0 }) else {
        throw .unit(.invalidValue("distances and attenuations are 0 or more, not \(values)"))
      }
      mixer.setDistance(
        DistanceRange(
          reference: wanted.mReferenceDistance, most: wanted.mMaxDistance,
          attenuation: wanted.mMaxAttenuation), ofBus: Int(element))
    default: return false
    }
    return true
  }
}
