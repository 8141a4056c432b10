// Types and constants of audio objects: the system, a device for each JACK server, and the streams
// of devices. AudioHardware.h has the functions.
#ifndef CUEJACK_AUDIOHARDWAREBASE_H
#define CUEJACK_AUDIOHARDWAREBASE_H

#include "../CoreAudioTypes/CoreAudioTypes.h"

CUE_HEADER_BEGIN
CF_EXTERN_C_BEGIN

// MARK: Objects and addresses

/// An audio object: the system, a device or a stream.
typedef UInt32 AudioObjectID;
typedef UInt32 AudioClassID;
typedef AudioObjectID AudioDeviceID;
typedef AudioObjectID AudioStreamID;

typedef UInt32 AudioObjectPropertySelector;
typedef UInt32 AudioObjectPropertyScope;
typedef UInt32 AudioObjectPropertyElement;

/// The address of a property of an object: its selector, its direction and its channel. Channels
/// have no properties of their own here but for their names, so the element is ignored for all
/// others.
struct AudioObjectPropertyAddress {
  AudioObjectPropertySelector mSelector;
  AudioObjectPropertyScope mScope;
  AudioObjectPropertyElement mElement;
};
typedef struct AudioObjectPropertyAddress AudioObjectPropertyAddress;

CF_ENUM(AudioObjectPropertySelector){/// Stands for every property, in a listener's address.
                                     kAudioObjectPropertySelectorWildcard = '****'};

CF_ENUM(AudioObjectPropertyScope){
    kAudioObjectPropertyScopeWildcard = '****', kAudioObjectPropertyScopeGlobal = 'glob',
    kAudioObjectPropertyScopeInput = 'inpt', kAudioObjectPropertyScopeOutput = 'outp',
    kAudioObjectPropertyScopePlayThrough = 'ptru'};

CF_ENUM(AudioObjectPropertyElement){
    kAudioObjectPropertyElementMain = 0,
    kAudioObjectPropertyElementMaster = kAudioObjectPropertyElementMain,
    kAudioObjectPropertyElementWildcard = 0xFFFFFFFF};

CF_ENUM(AudioObjectID){/// No object.
                       kAudioObjectUnknown = 0,
                       /// The system: it has the devices.
                       kAudioObjectSystemObject = 1};

CF_ENUM(AudioClassID){kAudioObjectClassIDWildcard = '****', kAudioObjectClassID = 'aobj',
                      kAudioSystemObjectClassID = 'asys',   kAudioPlugInClassID = 'aplg',
                      kAudioDeviceClassID = 'adev',         kAudioAggregateDeviceClassID = 'aagg',
                      kAudioSubDeviceClassID = 'asub',      kAudioStreamClassID = 'astr',
                      kAudioControlClassID = 'actl'};

// MARK: Result codes

CF_ENUM(OSStatus){
    kAudioHardwareNoError = 0,
    /// The server does not run and could not be started.
    kAudioHardwareNotRunningError = 'stop',
    /// Something else failed; the log says what.
    kAudioHardwareUnspecifiedError = 'what',
    /// The object has no such property.
    kAudioHardwareUnknownPropertyError = 'who?',
    /// The size is not that of the property's value.
    kAudioHardwareBadPropertySizeError = '!siz',
    /// The property cannot be set, or not to this value.
    kAudioHardwareIllegalOperationError = 'nope',
    /// There is no such object.
    kAudioHardwareBadObjectError = '!obj',
    /// There is no such device.
    kAudioHardwareBadDeviceError = '!dev',
    /// There is no such stream.
    kAudioHardwareBadStreamError = '!str',
    /// JACK cannot do this: plug-ins and aggregate devices.
    kAudioHardwareUnsupportedOperationError = 'unop', kAudioHardwareNotReadyError = 'nrdy',
    /// The server has another format.
    kAudioDeviceUnsupportedFormatError = '!dat', kAudioDevicePermissionsError = '!hog'};

// MARK: Properties of every object

CF_ENUM(AudioObjectPropertySelector){
    /// AudioClassID.
    kAudioObjectPropertyBaseClass = 'bcls', kAudioObjectPropertyClass = 'clas',
    /// AudioObjectID: the object that has this one.
    kAudioObjectPropertyOwner = 'stdv',
    /// CFString, which the caller releases. The name of a channel for ElementName: that of its
    /// port.
    kAudioObjectPropertyName = 'lnam', kAudioObjectPropertyModelName = 'lmod',
    kAudioObjectPropertyManufacturer = 'lmak', kAudioObjectPropertyElementName = 'lchn',
    kAudioObjectPropertyElementCategoryName = 'lccn',
    kAudioObjectPropertyElementNumberName = 'lcnn', kAudioObjectPropertySerialNumber = 'snum',
    kAudioObjectPropertyFirmwareVersion = 'fwvn',
    /// Array of AudioObjectID. An array of AudioClassID as the qualifier keeps only those classes.
    kAudioObjectPropertyOwnedObjects = 'ownd'};

// MARK: Properties of devices

CF_ENUM(UInt32){
    /// The driver of a JACK server is not known.
    kAudioDeviceTransportTypeUnknown = 0,          kAudioDeviceTransportTypeBuiltIn = 'bltn',
    kAudioDeviceTransportTypeAggregate = 'grup',   kAudioDeviceTransportTypeVirtual = 'virt',
    kAudioDeviceTransportTypePCI = 'pci ',         kAudioDeviceTransportTypeUSB = 'usb ',
    kAudioDeviceTransportTypeFireWire = '1394',    kAudioDeviceTransportTypeBluetooth = 'blue',
    kAudioDeviceTransportTypeBluetoothLE = 'blea', kAudioDeviceTransportTypeHDMI = 'hdmi',
    kAudioDeviceTransportTypeDisplayPort = 'dprt', kAudioDeviceTransportTypeAirPlay = 'airp',
    kAudioDeviceTransportTypeAVB = 'eavb',         kAudioDeviceTransportTypeThunderbolt = 'thun'};

CF_ENUM(AudioObjectPropertySelector){
    /// CFString, which the caller releases: `jack:SERVER`. kAudioQueueProperty_CurrentDevice takes
    /// it.
    kAudioDevicePropertyDeviceUID = 'uid ', kAudioDevicePropertyModelUID = 'muid',
    /// CFString, which the caller releases: the name of a program that patches servers, qjackctl.
    kAudioDevicePropertyConfigurationApplication = 'capp',
    /// UInt32: a kAudioDeviceTransportType.
    kAudioDevicePropertyTransportType = 'tran',
    /// Array of AudioDeviceID: the device itself.
    kAudioDevicePropertyRelatedDevices = 'akin',
    /// UInt32: 0, unknown.
    kAudioDevicePropertyClockDomain = 'clkd',
    /// UInt32: 0 while the server is gone. The device returns with the server.
    kAudioDevicePropertyDeviceIsAlive = 'livn',
    /// UInt32: for listeners only; always 0.
    kAudioDevicePropertyDeviceHasChanged = 'diff',
    /// UInt32: 1 while an IOProc of this process runs.
    kAudioDevicePropertyDeviceIsRunning = 'goin',
    /// UInt32: 1 while a client of any process is connected to the sound card.
    kAudioDevicePropertyDeviceIsRunningSomewhere = 'gone',
    /// UInt32: 1 for the default server.
    kAudioDevicePropertyDeviceCanBeDefaultDevice = 'dflt',
    kAudioDevicePropertyDeviceCanBeDefaultSystemDevice = 'sflt',
    /// UInt32, frames: the latency of the sound card's ports in the scope's direction, and of the
    /// output
    /// what calls of another length than the period add.
    kAudioDevicePropertyLatency = 'ltnc',
    /// Array of AudioStreamID: one stream, if the device has channels in the scope's direction.
    kAudioDevicePropertyStreams = 'stm#',
    /// Array of AudioObjectID: none.
    kAudioObjectPropertyControlList = 'ctrl',
    /// UInt32, frames: 0. It is contained in the latency.
    kAudioDevicePropertySafetyOffset = 'saft',
    /// Float64, Hz. Only the server's own rate can be set.
    kAudioDevicePropertyNominalSampleRate = 'nsrt',
    /// Array of AudioValueRange: the server's rate.
    kAudioDevicePropertyAvailableNominalSampleRates = 'nsr#',
    /// Float64, Hz.
    kAudioDevicePropertyActualSampleRate = 'asrt', kAudioDevicePropertyIsHidden = 'hidn',
    /// Two UInt32: channels for stereo, counted from 1.
    kAudioDevicePropertyPreferredChannelsForStereo = 'dch2',
    /// AudioChannelLayout.
    kAudioDevicePropertyPreferredChannelLayout = 'srnd',
    /// AudioBufferList with one buffer for all channels in the scope's direction, or with none.
    kAudioDevicePropertyStreamConfiguration = 'slay',
    /// UInt32, frames of each call of this process's IOProcs. Settable, for this process only:
    /// calls are
    /// arranged from cycles of any length. CUEJACK_SET_PERIOD=1 in the environment asks the server
    /// to
    /// change its period instead. Unless it is set, it is the server's period, and stays that as
    /// long as
    /// an IOProc that has been started exists.
    kAudioDevicePropertyBufferFrameSize = 'fsiz',
    /// AudioValueRange, frames.
    kAudioDevicePropertyBufferFrameSizeRange = 'fsz#',
    /// UInt32: 0.
    kAudioDevicePropertyUsesVariableBufferFrameSizes = 'vfsz',
    /// Float32: 1.
    kAudioDevicePropertyIOCycleUsage = 'ncyc',
    /// os_workgroup_t, which the caller releases: the threads of the device's cycles. See os/workgroup.h.
    kAudioDevicePropertyIOThreadOSWorkgroup = 'oswg',
    /// AudioHardwareIOProcStreamUsage: whether an IOProc gets the input, and whether its output is
    /// heard. A client that no function uses a direction of has no ports there.
    kAudioDevicePropertyIOProcStreamUsage = 'suse',
    /// pid_t: the process that hogs the device; -1 for none. Setting any value takes hog mode or
    /// gives it
    /// back. It excludes nobody: JACK has no exclusive use.
    kAudioDevicePropertyHogMode = 'oink',
    /// For listeners only: a cycle came too late.
    kAudioDeviceProcessorOverload = 'over',
    kAudioDevicePropertyProcessorOverload = kAudioDeviceProcessorOverload,
    /// Float32, 0 to 1: gain of the output of this process's IOProcs and queues. In dB:
    /// VolumeDecibels.
    kAudioDevicePropertyVolumeScalar = 'volm',
    /// Float32, dB: -96 to 0.
    kAudioDevicePropertyVolumeDecibels = 'vold',
    /// AudioValueRange, dB.
    kAudioDevicePropertyVolumeRangeDecibels = 'vdb#',
    /// Float32, converted in place.
    kAudioDevicePropertyVolumeScalarToDecibels = 'v2db',
    kAudioDevicePropertyVolumeDecibelsToScalar = 'db2v',
    /// UInt32: 1 if the output of this process's IOProcs and queues is silent.
    kAudioDevicePropertyMute = 'mute',
    /// UInt32: the ports of the sound card are the only source and destination.
    kAudioDevicePropertyDataSource = 'ssrc',
    /// Array of UInt32.
    kAudioDevicePropertyDataSources = 'ssc#',
    /// AudioValueTranslation from UInt32 to CFString, which the caller releases.
    kAudioDevicePropertyDataSourceNameForIDCFString = 'lscn'};

/// Value of kAudioDevicePropertyIOProcStreamUsage.
struct AudioHardwareIOProcStreamUsage {
  /// The IOProc's ID, set before the property is read or set.
  void *mIOProc;
  /// Streams in the scope's direction.
  UInt32 mNumberStreams;
  /// 0 for a stream that the IOProc does not use.
  UInt32 mStreamIsOn[1];
};
typedef struct AudioHardwareIOProcStreamUsage AudioHardwareIOProcStreamUsage;

// MARK: Properties of streams

/// A format with the range of its sample rate.
struct AudioStreamRangedDescription {
  AudioStreamBasicDescription mFormat;
  AudioValueRange mSampleRateRange;
};
typedef struct AudioStreamRangedDescription AudioStreamRangedDescription;

CF_ENUM(AudioObjectPropertySelector){/// UInt32: 1.
                                     kAudioStreamPropertyIsActive = 'sact',
                                     /// UInt32: 0 for output, 1 for input.
                                     kAudioStreamPropertyDirection = 'sdir',
                                     /// UInt32: 0, unknown.
                                     kAudioStreamPropertyTerminalType = 'term',
                                     /// UInt32: 1.
                                     kAudioStreamPropertyStartingChannel = 'schn',
                                     /// UInt32, frames: 0. It is contained in the device's.
                                     kAudioStreamPropertyLatency = kAudioDevicePropertyLatency,
                                     /// AudioStreamBasicDescription: native floats, interleaved, at
                                     /// the server's rate. Devices have it,
                                     /// too. Only the present format can be set.
                                     kAudioStreamPropertyVirtualFormat = 'sfmt',
                                     /// Array of AudioStreamRangedDescription.
                                     kAudioStreamPropertyAvailableVirtualFormats = 'sfma',
                                     kAudioStreamPropertyPhysicalFormat = 'pft ',
                                     kAudioStreamPropertyAvailablePhysicalFormats = 'pfta'};

CF_ENUM(UInt32) {
  kAudioStreamTerminalTypeUnknown = 0
};

CF_EXTERN_C_END
CUE_HEADER_END

#endif
