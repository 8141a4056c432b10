public import CAudioToolbox

// The functions of CarbonCore/Debugging.h. The header documents each function.

/// The result codes of MacErrors.h and of Core Audio, with their names and what they mean. Where two constants have one
/// value, the C functions tell the first, and errors of queues the last.
@safe private let codes: [(code: OSStatus, name: StaticString, meaning: StaticString)] = [
  (paramErr, "paramErr", "a parameter is wrong"),
  (unimpErr, "unimpErr", "the call is not implemented"),
  (userCanceledErr, "userCanceledErr", "it was cancelled"),
  (coreFoundationUnknownErr, "coreFoundationUnknownErr", "Core Foundation failed"),
  (memFullErr, "memFullErr", "there is no memory left"),
  (nilHandleErr, "nilHandleErr", "a handle is NULL"),
  (memWZErr, "memWZErr", "a block of memory is already free"),
  (memPurErr, "memPurErr", "a block of memory cannot be purged"),
  (memBCErr, "memBCErr", "a block of memory is damaged"),
  (memLockedErr, "memLockedErr", "a block of memory is locked"),
  (dirFulErr, "dirFulErr", "the folder is full"),
  (dskFulErr, "dskFulErr", "the disk is full"),
  (nsvErr, "nsvErr", "there is no such volume"),
  (ioErr, "ioErr", "reading or writing failed"),
  (bdNamErr, "bdNamErr", "the file name is not valid"),
  (fnOpnErr, "fnOpnErr", "the file is not open"),
  (eofErr, "eofErr", "the file ends here"),
  (posErr, "posErr", "the position lies before the beginning of the file"),
  (mFulErr, "mFulErr", "memory or the file is full"),
  (tmfoErr, "tmfoErr", "too many files are open"),
  (fnfErr, "fnfErr", "there is no such file"),
  (wPrErr, "wPrErr", "the volume is write-protected"),
  (fLckdErr, "fLckdErr", "the file is locked"),
  (vLckdErr, "vLckdErr", "the volume is locked"),
  (fBsyErr, "fBsyErr", "the file is in use"),
  (dupFNErr, "dupFNErr", "a file of this name exists"),
  (opWrErr, "opWrErr", "the file is already open for writing"),
  (rfNumErr, "rfNumErr", "the file number is not valid"),
  (gfpErr, "gfpErr", "the position of the file cannot be had"),
  (volOffLinErr, "volOffLinErr", "the volume is not there"),
  (permErr, "permErr", "permission is denied"),
  (volOnLinErr, "volOnLinErr", "the volume is already there"),
  (nsDrvErr, "nsDrvErr", "there is no such drive"),
  (noMacDskErr, "noMacDskErr", "the volume has another format"),
  (extFSErr, "extFSErr", "the volume belongs to another file system"),
  (fsRnErr, "fsRnErr", "renaming failed"),
  (badMDBErr, "badMDBErr", "the volume is damaged"),
  (wrPermErr, "wrPermErr", "the file may not be written"),
  (dirNFErr, "dirNFErr", "there is no such folder"),
  (tmwdoErr, "tmwdoErr", "too many folders are open"),
  (badMovErr, "badMovErr", "the file cannot be moved there"),
  (wrgVolTypErr, "wrgVolTypErr", "the volume is of the wrong kind"),
  (volGoneErr, "volGoneErr", "the volume has gone"),
  (notAFileErr, "notAFileErr", "it is not a file"),
  (errFSNoMoreItems, "errFSNoMoreItems", "there are no more items"),
  (errFSBadFSRef, "errFSBadFSRef", "the reference to the file is not valid"),
  (errFSRefsDifferent, "errFSRefsDifferent", "the references are of different files"),
  (resNotFound, "resNotFound", "there is no such resource"),
  (resFNotFound, "resFNotFound", "there is no file of resources"),
  (noHardwareErr, "noHardwareErr", "there is no sound hardware for it"),
  (notEnoughHardwareErr, "notEnoughHardwareErr", "there is not enough sound hardware"),
  (queueFull, "queueFull", "the queue has no room"),
  (resProblem, "resProblem", "a resource cannot be loaded"),
  (badChannel, "badChannel", "the channel is not valid"),
  (badFormat, "badFormat", "the data are not of the right format"),
  (notEnoughBufferSpace, "notEnoughBufferSpace", "the buffer has no room"),
  (badFileFormat, "badFileFormat", "the file is not of the right format"),
  (channelBusy, "channelBusy", "the channel is in use"),
  (buffersTooSmall, "buffersTooSmall", "the buffers are too small"),
  (siInvalidCompression, "siInvalidCompression", "the compression is not valid"),
  (procNotFound, "procNotFound", "there is no such process"),
  (invalidComponentID, "invalidComponentID", "there is no such component"),
  (validInstancesExist, "validInstancesExist", "the component has instances"),
  (componentNotCaptured, "componentNotCaptured", "the component is not captured"),
  (componentDontRegister, "componentDontRegister", "the component is not to be registered"),
  (badComponentInstance, "badComponentInstance", "the instance of a component is not valid"),
  (badComponentSelector, "badComponentSelector", "the component has no such function"),
  (kAudio_BadFilePathError, "kAudio_BadFilePathError", "the path is not valid"),
  (
    kAudioFormatUnspecifiedError, "kAudioFormatUnspecifiedError",
    "an error without a code of its own"
  ),
  (
    kAudioFormatUnsupportedPropertyError, "kAudioFormatUnsupportedPropertyError",
    "there is no such property"
  ),
  (
    kAudioFormatBadPropertySizeError, "kAudioFormatBadPropertySizeError",
    "the size does not fit the property"
  ),
  (
    kAudioFormatBadSpecifierSizeError, "kAudioFormatBadSpecifierSizeError",
    "the size of the specifier does not fit the property"
  ),
  (
    kAudioFormatUnsupportedDataFormatError, "kAudioFormatUnsupportedDataFormatError",
    "the format is not supported"
  ),
  (kAudioFormatUnknownFormatError, "kAudioFormatUnknownFormatError", "the format is not known"),
  (
    kAudioFileUnsupportedFileTypeError, "kAudioFileUnsupportedFileTypeError",
    "the type of the file is not supported"
  ),
  (
    kAudioFileUnsupportedPropertyError, "kAudioFileUnsupportedPropertyError",
    "the file has no such property"
  ),
  (kAudioFilePermissionsError, "kAudioFilePermissionsError", "permission for the file is denied"),
  (kAudioFileNotOptimizedError, "kAudioFileNotOptimizedError", "the file must be optimised first"),
  (kAudioFileInvalidChunkError, "kAudioFileInvalidChunkError", "the file has no such chunk"),
  (kAudioFileInvalidFileError, "kAudioFileInvalidFileError", "the file is damaged"),
  (
    kAudioConverterErr_OperationNotSupported, "kAudioConverterErr_OperationNotSupported",
    "the operation is not supported"
  ),
  (
    kAudioConverterErr_InvalidInputSize, "kAudioConverterErr_InvalidInputSize",
    "the input is not a whole number of packets"
  ),
  (
    kAudioConverterErr_InvalidOutputSize, "kAudioConverterErr_InvalidOutputSize",
    "the output buffer is too small"
  ),
  (
    kAudioConverterErr_RequiresPacketDescriptionsError,
    "kAudioConverterErr_RequiresPacketDescriptionsError", "the packets need descriptions"
  ),
  (
    kAudioConverterErr_InputSampleRateOutOfRange, "kAudioConverterErr_InputSampleRateOutOfRange",
    "the input rate cannot be converted"
  ),
  (
    kAudioConverterErr_OutputSampleRateOutOfRange, "kAudioConverterErr_OutputSampleRateOutOfRange",
    "the output rate cannot be made"
  ),
  (kAudioCodecBadDataError, "kAudioCodecBadDataError", "a packet is damaged"),
  (kAudioHardwareNotRunningError, "kAudioHardwareNotRunningError", "the device does not run"),
  (
    kAudioHardwareUnknownPropertyError, "kAudioHardwareUnknownPropertyError",
    "the object has no such property"
  ),
  (
    kAudioHardwareIllegalOperationError, "kAudioHardwareIllegalOperationError",
    "the operation is not possible now"
  ),
  (kAudioHardwareBadObjectError, "kAudioHardwareBadObjectError", "there is no such object"),
  (kAudioHardwareBadDeviceError, "kAudioHardwareBadDeviceError", "there is no such device"),
  (kAudioHardwareBadStreamError, "kAudioHardwareBadStreamError", "there is no such stream"),
  (kAudioHardwareNotReadyError, "kAudioHardwareNotReadyError", "the device is not ready"),
  (
    kAudioDevicePermissionsError, "kAudioDevicePermissionsError",
    "the device belongs to another process"
  ),
  (kAudioSessionNotActiveError, "kAudioSessionNotActiveError", "the audio session is not active"),
  (
    kAudioSessionInitializationError, "kAudioSessionInitializationError",
    "the audio session is initialised already"
  ),
  (kAUGraphErr_NodeNotFound, "kAUGraphErr_NodeNotFound", "there is no such node"),
  (kAUGraphErr_InvalidConnection, "kAUGraphErr_InvalidConnection", "the nodes cannot be connected"),
  (
    kAUGraphErr_OutputNodeErr, "kAUGraphErr_OutputNodeErr",
    "there is no output node, or a second one"
  ),
  (
    kAUGraphErr_CannotDoInCurrentContext, "kAUGraphErr_CannotDoInCurrentContext",
    "it cannot be done now"
  ),
  (kAUGraphErr_InvalidAudioUnit, "kAUGraphErr_InvalidAudioUnit", "the node has no unit"),
  (kAudioUnitErr_InvalidProperty, "kAudioUnitErr_InvalidProperty", "the unit has no such property"),
  (
    kAudioUnitErr_InvalidParameter, "kAudioUnitErr_InvalidParameter",
    "the unit has no such parameter"
  ),
  (kAudioUnitErr_InvalidElement, "kAudioUnitErr_InvalidElement", "there is no such element"),
  (kAudioUnitErr_NoConnection, "kAudioUnitErr_NoConnection", "nothing is connected"),
  (
    kAudioUnitErr_FailedInitialization, "kAudioUnitErr_FailedInitialization",
    "the unit cannot be initialised"
  ),
  (
    kAudioUnitErr_TooManyFramesToProcess, "kAudioUnitErr_TooManyFramesToProcess",
    "more frames than the unit's maximum"
  ),
  (kAudioUnitErr_InvalidFile, "kAudioUnitErr_InvalidFile", "the file is not valid"),
  (
    kAudioUnitErr_UnknownFileType, "kAudioUnitErr_UnknownFileType",
    "the type of the file is not known"
  ),
  (kAudioUnitErr_FileNotSpecified, "kAudioUnitErr_FileNotSpecified", "there is no file"),
  (
    kAudioUnitErr_FormatNotSupported, "kAudioUnitErr_FormatNotSupported",
    "the unit does not support the format"
  ),
  (kAudioUnitErr_Uninitialized, "kAudioUnitErr_Uninitialized", "the unit is not initialised"),
  (kAudioUnitErr_InvalidScope, "kAudioUnitErr_InvalidScope", "there is no such scope"),
  (
    kAudioUnitErr_PropertyNotWritable, "kAudioUnitErr_PropertyNotWritable",
    "the property cannot be set"
  ),
  (
    kAudioUnitErr_InvalidPropertyValue, "kAudioUnitErr_InvalidPropertyValue",
    "the value is not valid"
  ),
  (kAudioUnitErr_PropertyNotInUse, "kAudioUnitErr_PropertyNotInUse", "the property has no value"),
  (kAudioUnitErr_Initialized, "kAudioUnitErr_Initialized", "the unit is initialised"),
  (
    kAudioUnitErr_InvalidOfflineRender, "kAudioUnitErr_InvalidOfflineRender",
    "the offline render is not valid"
  ),
  (kAudioUnitErr_Unauthorized, "kAudioUnitErr_Unauthorized", "it is not permitted"),
  (
    kAudioComponentErr_InstanceTimedOut, "kAudioComponentErr_InstanceTimedOut",
    "the component did not answer in time"
  ),
  (
    kAudioComponentErr_InstanceInvalidated, "kAudioComponentErr_InstanceInvalidated",
    "the component has crashed"
  ),
  (
    kAudioComponentErr_DuplicateDescription, "kAudioComponentErr_DuplicateDescription",
    "a component of this description is there"
  ),
  (
    kAudioComponentErr_UnsupportedType, "kAudioComponentErr_UnsupportedType",
    "the component does not support it"
  ),
  (
    kAudioComponentErr_TooManyInstances, "kAudioComponentErr_TooManyInstances",
    "there are too many instances"
  ),
  (
    kAudioComponentErr_NotPermitted, "kAudioComponentErr_NotPermitted",
    "the component may not be used"
  ),
  (
    kAudioComponentErr_InitializationTimedOut, "kAudioComponentErr_InitializationTimedOut",
    "the component was not ready in time"
  ),
  (kAudioComponentErr_InvalidFormat, "kAudioComponentErr_InvalidFormat", "the format is not valid"),
  (
    kAudioQueueErr_InvalidBuffer, "kAudioQueueErr_InvalidBuffer",
    "the buffer is not one of this queue's"
  ),
  (kAudioQueueErr_BufferEmpty, "kAudioQueueErr_BufferEmpty", "the buffer holds no sound"),
  (
    kAudioQueueErr_DisposalPending, "kAudioQueueErr_DisposalPending",
    "the queue is about to go and takes no more calls"
  ),
  (
    kAudioQueueErr_InvalidProperty, "kAudioQueueErr_InvalidProperty",
    "the queue has no such property"
  ),
  (
    kAudioQueueErr_InvalidPropertySize, "kAudioQueueErr_InvalidPropertySize",
    "the size is not that of the property"
  ),
  (
    kAudioQueueErr_InvalidParameter, "kAudioQueueErr_InvalidParameter",
    "the queue has no such parameter"
  ),
  (
    kAudioQueueErr_CannotStart, "kAudioQueueErr_CannotStart",
    "the sound server cannot be reached; the log says why"
  ),
  (
    kAudioQueueErr_InvalidDevice, "kAudioQueueErr_InvalidDevice",
    "the device does not exist or does not answer"
  ),
  (
    kAudioQueueErr_BufferInQueue, "kAudioQueueErr_BufferInQueue",
    "the buffer is enqueued and cannot be freed"
  ),
  (
    kAudioQueueErr_InvalidRunState, "kAudioQueueErr_InvalidRunState",
    "the queue or its device runs and should not, or does not"
  ),
  (
    kAudioQueueErr_InvalidQueueType, "kAudioQueueErr_InvalidQueueType",
    "this is a call for another type of queue"
  ),
  (kAudioQueueErr_Permissions, "kAudioQueueErr_Permissions", "the property can only be read"),
  (
    kAudioQueueErr_InvalidPropertyValue, "kAudioQueueErr_InvalidPropertyValue",
    "the property does not take this value"
  ),
  (
    kAudioQueueErr_PrimeTimedOut, "kAudioQueueErr_PrimeTimedOut",
    "the frames are not enqueued or were not ready in time"
  ),
  (
    kAudioQueueErr_CodecNotFound, "kAudioQueueErr_CodecNotFound", "there is no codec for the format"
  ),
  (
    kAudioQueueErr_InvalidCodecAccess, "kAudioQueueErr_InvalidCodecAccess",
    "the codec cannot be used"
  ),
  (
    kAudioQueueErr_QueueInvalidated, "kAudioQueueErr_QueueInvalidated", "the sound server went away"
  ),
  (kAudioQueueErr_TooManyTaps, "kAudioQueueErr_TooManyTaps", "the queue has a tap"),
  (
    kAudioQueueErr_InvalidTapContext, "kAudioQueueErr_InvalidTapContext",
    "the tap may not be asked here"
  ),
  (
    kAudioQueueErr_RecordUnderrun, "kAudioQueueErr_RecordUnderrun",
    "no buffer was there for what was recorded"
  ),
  (
    kAudioQueueErr_InvalidTapType, "kAudioQueueErr_InvalidTapType",
    "the flags of the tap do not fit together"
  ),
  (
    kAudioQueueErr_EnqueueDuringReset, "kAudioQueueErr_EnqueueDuringReset",
    "the queue is handing its buffers back"
  ),
  (
    kAudioQueueErr_InvalidOfflineMode, "kAudioQueueErr_InvalidOfflineMode",
    "the queue renders offline and should not, or does not"
  ),
  (
    kAudioQueueErr_BufferEnqueuedTwice, "kAudioQueueErr_BufferEnqueuedTwice",
    "the buffer is enqueued already"
  ),
  (
    kAudioSessionIncompatibleCategory, "kAudioSessionIncompatibleCategory",
    "the audio session's category does not allow the start"
  ),
  (kAudio_ParamError, "kAudio_ParamError", "an argument is wrong; the log says which"),
  (kAudio_MemFullError, "kAudio_MemFullError", "there is no memory left"),
]

/// Returns the name of a result code's constant and what the code means; nil if it is unknown.
func textsOfQueueError(_ status: OSStatus) -> (name: String, meaning: String)? {
  codes.last { $0.code == status }.map { ("\($0.name)", "\($0.meaning)") }
}

private func text(
  of code: OSStatus,
  _ path: KeyPath<(code: OSStatus, name: StaticString, meaning: StaticString), StaticString>
) -> UnsafePointer<CChar> {
  let found = codes.first { $0.code == code }
  let text: StaticString = found.map { $0[keyPath: path] } ?? (code == noErr ? "noErr" : "")
  return unsafe UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
}

/// See GetMacOSStatusErrorString in CarbonCore/Debugging.h.
@c @implementation
public func GetMacOSStatusErrorString(_ err: OSStatus) -> UnsafePointer<CChar> {
  unsafe text(of: err, \.name)
}

/// See GetMacOSStatusCommentString in CarbonCore/Debugging.h.
@c @implementation
public func GetMacOSStatusCommentString(_ err: OSStatus) -> UnsafePointer<CChar> {
  unsafe text(of: err, \.meaning)
}
