// The constants and structure layouts with which programs are compiled on Apple's systems.
#include <AudioToolbox/AudioToolbox.h>
#include <MacTypes.h>
#include <TargetConditionals.h>

#ifdef __cplusplus
#define CHECK(condition) static_assert(condition, #condition)
#else
#define CHECK(condition) _Static_assert(condition, #condition)
#endif

CHECK(sizeof(AudioStreamBasicDescription) == 40);
CHECK(offsetof(AudioStreamBasicDescription, mBitsPerChannel) == 32);
CHECK(sizeof(AudioStreamPacketDescription) == 16);
CHECK(sizeof(SMPTETime) == 24);
CHECK(sizeof(AudioTimeStamp) == 64);
CHECK(offsetof(AudioTimeStamp, mFlags) == 56);
CHECK(sizeof(AudioBuffer) == 16);
CHECK(sizeof(AudioBufferList) == 24);
CHECK(offsetof(AudioBufferList, mBuffers) == 8);
CHECK(sizeof(AudioChannelDescription) == 20);
CHECK(sizeof(AudioChannelLayout) == 32);
CHECK(sizeof(AudioClassDescription) == 12);
CHECK(sizeof(AudioValueRange) == 16);
CHECK(sizeof(AudioValueTranslation) == 32);
CHECK(sizeof(AudioQueueBuffer) == 56);
CHECK(offsetof(AudioQueueBuffer, mAudioData) == 8);
CHECK(offsetof(AudioQueueBuffer, mAudioDataByteSize) == 16);
CHECK(offsetof(AudioQueueBuffer, mUserData) == 24);
CHECK(offsetof(AudioQueueBuffer, mPacketDescriptionCapacity) == 32);
CHECK(offsetof(AudioQueueBuffer, mPacketDescriptions) == 40);
CHECK(offsetof(AudioQueueBuffer, mPacketDescriptionCount) == 48);
CHECK(sizeof(OSStatus) == 4 && sizeof(Boolean) == 1 && sizeof(AudioFilePermissions) == 1);
CHECK(sizeof(Byte) == 1 && sizeof(ItemCount) == 8 && sizeof(FourCharCode) == 4);
CHECK(sizeof(AudioTimeStampFlags) == 4 && sizeof(AudioChannelBitmap) == 4);

CHECK(noErr == 0 && fsRdPerm == 1 && fsWrPerm == 2 && fsRdWrPerm == 3);
CHECK(kAudio_UnimplementedError == -4 && kAudio_FileNotFoundError == -43);
CHECK(kAudio_FilePermissionError == -54 && kAudio_TooManyFilesOpenError == -42);
CHECK(kAudio_BadFilePathError == '!pth' && kAudio_ParamError == -50 && kAudio_MemFullError == -108);

CHECK(kAudioFormatLinearPCM == 0x6C70636D && kAudioFormatAC3 == 0x61632D33);
CHECK(kAudioFormatMPEG4AAC == 0x61616320 && kAudioFormatAppleLossless == 0x616C6163);
CHECK(kAudioFormatMPEGLayer3 == 0x2E6D7033 && kAudioFormatULaw == 0x756C6177);
CHECK(kAudioFormatFLAC == 0x666C6163 && kAudioFormatOpus == 0x6F707573);
CHECK(kAudioFormatAPAC == 'apac');
CHECK(kAudioFormatMPEG4AAC_HE == 'aach' && kAudioFormatAMR == 'samr');
CHECK(kAudioFormatAppleIMA4 == 'ima4' && kAudioFormatALaw == 'alaw');
CHECK(kAudioFormatMPEGLayer1 == '.mp1' && kAudioFormatMPEGLayer2 == '.mp2');
CHECK(kAudioFormatMPEG4AAC_HE_V2 == 'aacp' && kAudioFormatAMR_WB == 'sawb');
CHECK(kAudioFormatEnhancedAC3 == 'ec-3' && kAudioFormatDVIIntelIMA == 0x6D730011);
CHECK(kAudioFormatMicrosoftGSM == 0x6D730031);
CHECK(kAppleLosslessFormatFlag_16BitSourceData == 1);
CHECK(kAppleLosslessFormatFlag_20BitSourceData == 2);
CHECK(kAppleLosslessFormatFlag_24BitSourceData == 3);
CHECK(kAppleLosslessFormatFlag_32BitSourceData == 4);
CHECK(kMPEG4Object_AAC_Main == 1 && kMPEG4Object_AAC_LC == 2 && kMPEG4Object_AAC_SSR == 3);
CHECK(kMPEG4Object_AAC_LTP == 4 && kMPEG4Object_AAC_SBR == 5);
CHECK(kMPEG4Object_AAC_Scalable == 6 && kMPEG4Object_TwinVQ == 7 && kMPEG4Object_CELP == 8);
CHECK(kMPEG4Object_HVXC == 9);
CHECK(kAudioFormatFlagIsFloat == 1 && kAudioFormatFlagIsBigEndian == 2);
CHECK(kAudioFormatFlagIsSignedInteger == 4 && kAudioFormatFlagIsPacked == 8);
CHECK(kAudioFormatFlagIsAlignedHigh == 16 && kAudioFormatFlagIsNonInterleaved == 32);
CHECK(kAudioFormatFlagIsNonMixable == 64 && kAudioFormatFlagsAreAllClear == 0x80000000);
CHECK(kLinearPCMFormatFlagsSampleFractionMask == 0x1F80);
CHECK(kAudioFormatFlagsNativeEndian == 0 && kAudioFormatFlagsNativeFloatPacked == 9);
CHECK(kAppleLosslessFormatFlag_24BitSourceData == 3);
CHECK(kAudioTimeStampSampleHostTimeValid == 3 && kAudioTimeStampSMPTETimeValid == 16);
CHECK(kSMPTETimeType2997Drop == 5 && kSMPTETimeType2398 == 11 && kSMPTETimeRunning == 2);

CHECK(kAudioChannelLabel_Unknown == 0xFFFFFFFF && kAudioChannelLabel_LFEScreen == 4);
CHECK(kAudioChannelLabel_RearSurroundLeft == 33 && kAudioChannelLabel_Mono == 42);
CHECK(kAudioChannelLabel_HeadphonesLeft == 301 && kAudioChannelLabel_Discrete_5 == 0x10005);
CHECK(kAudioChannelLabel_HOA_ACN_3 == 0x20003 && kAudioChannelLabel_CenterTopMiddle == 12);
CHECK(kAudioChannelBit_TopBackRight == 1U << 17 && kAudioChannelBit_RightTopRear == 1U << 26);
CHECK(kAudioChannelLayoutTag_UseChannelDescriptions == 0);
CHECK(kAudioChannelLayoutTag_UseChannelBitmap == 0x10000);
CHECK(kAudioChannelLayoutTag_Mono == 0x640001 && kAudioChannelLayoutTag_Stereo == 0x650002);
CHECK(kAudioChannelLayoutTag_Cube == 0x700008 && kAudioChannelLayoutTag_MPEG_3_0_A == 0x710003);
CHECK(kAudioChannelLayoutTag_MPEG_5_1_A == 0x790006 &&
      kAudioChannelLayoutTag_MPEG_7_1_C == 0x800008);
CHECK(kAudioChannelLayoutTag_SMPTE_DTV == 0x820008 && kAudioChannelLayoutTag_ITU_2_1 == 0x830003);
CHECK(kAudioChannelLayoutTag_DVD_18 == 0x8A0005 && kAudioChannelLayoutTag_DVD_20 == 0x7A0006);
CHECK(kAudioChannelLayoutTag_AudioUnit_7_0_Front == 0x940007);
CHECK(kAudioChannelLayoutTag_AAC_Octagonal == 0x900008);
CHECK(kAudioChannelLayoutTag_TMH_10_2_full == 0x920015);
CHECK(kAudioChannelLayoutTag_AC3_1_0_1 == 0x950002 &&
      kAudioChannelLayoutTag_EAC3_7_1_H == 0xA70008);
CHECK(kAudioChannelLayoutTag_DTS_8_1_B == 0xB50009 && kAudioChannelLayoutTag_DTS_6_1_D == 0xB60007);
CHECK(kAudioChannelLayoutTag_DiscreteInOrder == 0x930000);
CHECK(kAudioChannelLayoutTag_Unknown == 0xFFFF0000);

CHECK(kAudioQueueErr_InvalidBuffer == -66687 && kAudioQueueErr_BufferEmpty == -66686);
CHECK(kAudioQueueErr_DisposalPending == -66685 && kAudioQueueErr_InvalidProperty == -66684);
CHECK(kAudioQueueErr_InvalidPropertySize == -66683 && kAudioQueueErr_InvalidParameter == -66682);
CHECK(kAudioQueueErr_CannotStart == -66681 && kAudioQueueErr_InvalidDevice == -66680);
CHECK(kAudioQueueErr_BufferInQueue == -66679 && kAudioQueueErr_InvalidRunState == -66678);
CHECK(kAudioQueueErr_InvalidQueueType == -66677 && kAudioQueueErr_Permissions == -66676);
CHECK(kAudioQueueErr_InvalidPropertyValue == -66675 && kAudioQueueErr_PrimeTimedOut == -66674);
CHECK(kAudioQueueErr_CodecNotFound == -66673 && kAudioQueueErr_InvalidCodecAccess == -66672);
CHECK(kAudioQueueErr_QueueInvalidated == -66671 && kAudioQueueErr_RecordUnderrun == -66668);
CHECK(kAudioQueueErr_EnqueueDuringReset == -66632 && kAudioQueueErr_InvalidOfflineMode == -66626);
CHECK(kAudioFormatUnsupportedDataFormatError == 1718449215);
CHECK(kAudioQueueProperty_IsRunning == 'aqrn' && kAudioQueueProperty_CurrentDevice == 'aqcd');
CHECK(kAudioQueueDeviceProperty_SampleRate == 'aqsr' && kAudioQueueParam_Volume == 1);
CHECK(kAudioQueueDeviceProperty_NumberChannels == 'aqdc');
CHECK(kAudioQueueProperty_StreamDescription == 'aqft');
CHECK(kAudioQueueProperty_MagicCookie == 'aqmc' && kAudioQueueProperty_ChannelLayout == 'aqcl');
CHECK(kAudioQueueProperty_MaximumOutputPacketSize == 'xops');
CHECK(kAudioQueueProperty_EnableLevelMetering == 'aqme');
CHECK(kAudioQueueProperty_CurrentLevelMeter == 'aqmv');
CHECK(kAudioQueueProperty_CurrentLevelMeterDB == 'aqmd');
CHECK(kAudioQueueProperty_ChannelAssignments == 'aqca');
CHECK(kAudioQueueProperty_HardwareCodecPolicy == 'aqcp');
CHECK(kAudioQueueHardwareCodecPolicy_Default == 0);
CHECK(kAudioQueueHardwareCodecPolicy_UseSoftwareOnly == 1);
CHECK(kAudioQueueHardwareCodecPolicy_UseHardwareOnly == 2);
CHECK(kAudioQueueHardwareCodecPolicy_PreferSoftware == 3);
CHECK(kAudioQueueHardwareCodecPolicy_PreferHardware == 4);
CHECK(sizeof(AudioQueueLevelMeterState) == 8);
CHECK(offsetof(AudioQueueLevelMeterState, mAveragePower) == 0);
CHECK(offsetof(AudioQueueLevelMeterState, mPeakPower) == 4);
CHECK(sizeof(AudioQueueChannelAssignment) == 16);
CHECK(offsetof(AudioQueueChannelAssignment, mChannelNumber) == 8);
CHECK(kAudioConverterPropertyMaximumOutputPacketSize == 'xops');
CHECK(kAudioConverterCompressionMagicCookie == 'cmgc');
CHECK(kAudioConverterCurrentInputStreamDescription == 'acid');
CHECK(kAudioConverterCurrentOutputStreamDescription == 'acod');
CHECK(kAudioQueueProperty_EnableTimePitch == 'q_tp' &&
      kAudioQueueProperty_TimePitchBypass == 'qtpb');
CHECK(kAudioQueueProperty_TimePitchAlgorithm == 'qtpa');
CHECK(kAudioQueueTimePitchAlgorithm_Spectral == 'spec');
CHECK(kAudioQueueTimePitchAlgorithm_TimeDomain == 'tido');
CHECK(kAudioQueueTimePitchAlgorithm_Varispeed == 'vspd');
CHECK(kAudioQueueProperty_DecodeBufferSizeFrames == 'dcbf');
CHECK(kAudioQueueProperty_ConverterError == 'qcve');
CHECK(kAudioQueueParam_PlayRate == 2 && kAudioQueueParam_Pitch == 3);
CHECK(kAudioQueueProcessingTap_PreEffects == 1 && kAudioQueueProcessingTap_PostEffects == 2);
CHECK(kAudioQueueProcessingTap_Siphon == 4);
CHECK(kAudioQueueProcessingTap_StartOfStream == 256 && kAudioQueueProcessingTap_EndOfStream == 512);
CHECK(sizeof(AudioQueueProcessingTapFlags) == 4);
CHECK(kAudioQueueErr_TooManyTaps == -66670 && kAudioQueueErr_InvalidTapContext == -66669);
CHECK(kAudioQueueErr_InvalidTapType == -66667);

CHECK(kAudioFileUnspecifiedError == 0x7768743F && kAudioFileUnsupportedFileTypeError == 0x7479703F);
CHECK(kAudioFileUnsupportedDataFormatError == 0x666D743F);
CHECK(kAudioFileUnsupportedPropertyError == 0x7074793F);
CHECK(kAudioFileBadPropertySizeError == 0x2173697A && kAudioFilePermissionsError == 0x70726D3F);
CHECK(kAudioFileNotOptimizedError == 0x6F70746D && kAudioFileInvalidChunkError == 0x63686B3F);
CHECK(kAudioFileDoesNotAllow64BitDataSizeError == 0x6F66663F);
CHECK(kAudioFileInvalidPacketOffsetError == 0x70636B3F);
CHECK(kAudioFileInvalidPacketDependencyError == 0x6465703F);
CHECK(kAudioFileInvalidFileError == 0x6474613F);
CHECK(kAudioFileOperationNotSupportedError == 0x6F703F3F);
CHECK(kAudioFileNotOpenError == -38 && kAudioFileEndOfFileError == -39);
CHECK(kAudioFilePositionError == -40 && kAudioFileFileNotFoundError == -43);
CHECK(kAudioFileWave64Type == 0x57363466 && kAudioFileNextType == 0x4E655854);
CHECK(kAudioFileCAFType == 0x63616666 && kAudioFileRF64Type == 0x52463634);
CHECK(kAudioFilePropertyDataFormat == 'dfmt' && kAudioFilePropertyMagicCookieData == 'mgic');
CHECK(kAudioFilePropertyAudioDataPacketCount == 'pcnt' && kAudioFilePropertyBitRate == 'brat');
CHECK(kAudioFilePropertyPacketSizeUpperBound == 'pkub');
CHECK(kAudioFilePropertyChannelLayout == 'cmap' && kAudioFilePropertyEstimatedDuration == 'edur');
CHECK(kAudioFileMP3Type == 'MPG3' && kAudioFileMP2Type == 'MPG2' && kAudioFileMP1Type == 'MPG1');
CHECK(kAudioFileAC3Type == 'ac-3' && kAudioFileAAC_ADTSType == 'adts');
CHECK(kAudioFileMPEG4Type == 'mp4f' && kAudioFileM4AType == 'm4af' && kAudioFileM4BType == 'm4bf');
CHECK(kAudioFile3GPType == '3gpp' && kAudioFile3GP2Type == '3gp2' && kAudioFileAMRType == 'amrf');
CHECK(kAudioFileFLACType == 'flac' && kAudioFileOggType == 'Oggf');
CHECK(kAudioFileFlags_EraseFile == 1 && kAudioFileFlags_DontPageAlignAudioData == 2);
CHECK(kAudioFileReadPermission == 1 && kAudioFileWritePermission == 2);
CHECK(kAudioFileReadWritePermission == 3 && dskFulErr == -34);
CHECK(kAudioFileLoopDirection_NoLooping == 0 && kAudioFileLoopDirection_Forward == 1);
CHECK(kAudioFileLoopDirection_ForwardAndBackward == 2 && kAudioFileLoopDirection_Backward == 3);
CHECK(sizeof(AudioFile_SMPTE_Time) == 8 && sizeof(AudioFileMarker) == 40);
CHECK(offsetof(AudioFileMarker, mSMPTETime) == 20 && offsetof(AudioFileMarker, mChannel) == 34);
CHECK(sizeof(AudioFileMarkerList) == 48 && offsetof(AudioFileMarkerList, mMarkers) == 8);
CHECK(sizeof(AudioFileRegion) == 64 && offsetof(AudioFileRegion, mMarkers) == 24);
CHECK(sizeof(AudioFileRegionList) == 72 && offsetof(AudioFileRegionList, mRegions) == 8);
CHECK(kAudioFileRegionFlag_LoopEnable == 1 && kAudioFileRegionFlag_PlayForward == 2);
CHECK(kAudioFileRegionFlag_PlayBackward == 4 && kAudioFileMarkerType_Generic == 0);
CHECK(sizeof(AudioFramePacketTranslation) == 24 && sizeof(AudioBytePacketTranslation) == 24);
CHECK(offsetof(AudioBytePacketTranslation, mFlags) == 20);
CHECK(kBytePacketTranslationFlag_IsEstimate == 1 && sizeof(AudioFilePacketTableInfo) == 16);
CHECK(sizeof(AudioFileTypeAndFormatID) == 8);
CHECK(kAudioFilePropertyFileFormat == 'ffmt' && kAudioFilePropertyFormatList == 'flst');
CHECK(kAudioFilePropertyIsOptimized == 'optm' && kAudioFilePropertyAudioDataByteCount == 'bcnt');
CHECK(kAudioFilePropertyMaximumPacketSize == 'psze' && kAudioFilePropertyDataOffset == 'doff');
CHECK(kAudioFilePropertyDeferSizeUpdates == 'dszu' && kAudioFilePropertyDataFormatName == 'fnme');
CHECK(kAudioFilePropertyMarkerList == 'mkls' && kAudioFilePropertyRegionList == 'rgls');
CHECK(kAudioFilePropertyPacketToFrame == 'pkfr' && kAudioFilePropertyFrameToPacket == 'frpk');
CHECK(kAudioFilePropertyPacketToByte == 'pkby' && kAudioFilePropertyByteToPacket == 'bypk');
CHECK(kAudioFilePropertyChunkIDs == 'chid' && kAudioFilePropertyInfoDictionary == 'info');
CHECK(kAudioFilePropertyPacketTableInfo == 'pnfo' && kAudioFilePropertyReserveDuration == 'rsrv');
CHECK(kAudioFilePropertyID3Tag == 'id3t' && kAudioFilePropertySourceBitDepth == 'sbtd');
CHECK(kAudioFilePropertyAudioTrackCount == 'atct' && kAudioFilePropertyUseAudioTrack == 'uatk');
CHECK(kAudioFilePropertyRestrictsRandomAccess == 'rrap');
CHECK(kAudioFileGlobalInfo_ReadableTypes == 'afrf' && kAudioFileGlobalInfo_WritableTypes == 'afwf');
CHECK(kAudioFileGlobalInfo_FileTypeName == 'ftnm');
CHECK(kAudioFileGlobalInfo_AvailableStreamDescriptionsForFormat == 'sdid');
CHECK(kAudioFileGlobalInfo_AvailableFormatIDs == 'fmid');
CHECK(kAudioFileGlobalInfo_AllExtensions == 'alxt' && kAudioFileGlobalInfo_AllUTIs == 'auti');
CHECK(kAudioFileGlobalInfo_AllMIMETypes == 'amim');
CHECK(kAudioFileGlobalInfo_ExtensionsForType == 'fext');
CHECK(kAudioFileGlobalInfo_UTIsForType == 'futi' &&
      kAudioFileGlobalInfo_MIMETypesForType == 'fmim');
CHECK(kAudioFileGlobalInfo_TypesForMIMEType == 'tmim' &&
      kAudioFileGlobalInfo_TypesForUTI == 'tuti');
CHECK(kAudioFileGlobalInfo_TypesForExtension == 'text');
CHECK(kAudioFileGlobalInfo_AllHFSTypeCodes == 'ahfs');
CHECK(kAudioFileGlobalInfo_HFSTypeCodesForType == 'fhfs');
CHECK(kAudioFileGlobalInfo_TypesForHFSTypeCode == 'thfs');
CHECK(kAudioFileSoundDesigner2Type == 'Sd2f' && kAudioFilePropertyAlbumArtwork == 'aart');
CHECK(kAudioFilePropertyNextIndependentPacket == 'nind');
CHECK(sizeof(AudioIndependentPacketTranslation) == 16);

CHECK(TARGET_OS_MAC == 0 && TARGET_OS_LINUX == 1);

CHECK(sizeof(AudioConverterPrimeInfo) == 8 && sizeof(AudioFormatListItem) == 48);
CHECK(sizeof(AudioFormatInfo) == 56 && offsetof(AudioFormatInfo, mMagicCookieSize) == 48);
CHECK(kAudioConverterErr_FormatNotSupported == 0x666D743F);
CHECK(kAudioConverterErr_OperationNotSupported == 0x6F703F3F);
CHECK(kAudioConverterErr_PropertyNotSupported == 'prop');
CHECK(kAudioConverterErr_InvalidInputSize == 'insz');
CHECK(kAudioConverterErr_InvalidOutputSize == 'otsz');
CHECK(kAudioConverterErr_UnspecifiedError == 'what');
CHECK(kAudioConverterErr_BadPropertySizeError == '!siz');
CHECK(kAudioConverterErr_RequiresPacketDescriptionsError == '!pkd');
CHECK(kAudioConverterErr_InputSampleRateOutOfRange == '!isr');
CHECK(kAudioConverterErr_OutputSampleRateOutOfRange == '!osr');
CHECK(kAudioConverterPropertyMinimumInputBufferSize == 'mibs');
CHECK(kAudioConverterPropertyMinimumOutputBufferSize == 'mobs');
CHECK(kAudioConverterPropertyMaximumInputPacketSize == 'xips');
CHECK(kAudioConverterPropertyMaximumOutputPacketSize == 'xops');
CHECK(kAudioConverterPropertyCalculateInputBufferSize == 'cibs');
CHECK(kAudioConverterPropertyCalculateOutputBufferSize == 'cobs');
CHECK(kAudioConverterSampleRateConverterComplexity == 'srca');
CHECK(kAudioConverterSampleRateConverterQuality == 'srcq');
CHECK(kAudioConverterCodecQuality == 'cdqu' && kAudioConverterPrimeMethod == 'prmm');
CHECK(kAudioConverterPrimeInfo == 'prim' && kAudioConverterChannelMap == 'chmp');
CHECK(kAudioConverterDecompressionMagicCookie == 'dmgc');
CHECK(kAudioConverterCompressionMagicCookie == 'cmgc');
CHECK(kAudioConverterEncodeBitRate == 'brat' &&
      kAudioConverterEncodeAdjustableSampleRate == 'ajsr');
CHECK(kAudioConverterInputChannelLayout == 'icl ' && kAudioConverterOutputChannelLayout == 'ocl ');
CHECK(kAudioConverterApplicableEncodeBitRates == 'aebr');
CHECK(kAudioConverterAvailableEncodeBitRates == 'vebr');
CHECK(kAudioConverterApplicableEncodeSampleRates == 'aesr');
CHECK(kAudioConverterAvailableEncodeSampleRates == 'vesr');
CHECK(kAudioConverterAvailableEncodeChannelLayoutTags == 'aecl');
CHECK(kAudioConverterPropertyDithering == 'dith' &&
      kAudioConverterPropertyDitherBitDepth == 'dbit');
CHECK(kDitherAlgorithm_TPDF == 1 && kDitherAlgorithm_NoiseShaping == 2);
CHECK(kAudioConverterCurrentOutputStreamDescription == 'acod');
CHECK(kAudioConverterCurrentInputStreamDescription == 'acid');
CHECK(kAudioConverterPropertyBitDepthHint == 'acbd' && kAudioConverterPropertyFormatList == 'flst');
CHECK(kAudioConverterQuality_Max == 127 && kAudioConverterQuality_Medium == 64);
CHECK(kAudioConverterSampleRateConverterComplexity_Linear == 'line');
CHECK(kAudioConverterSampleRateConverterComplexity_Normal == 'norm');
CHECK(kAudioConverterSampleRateConverterComplexity_Mastering == 'bats');
CHECK(kAudioConverterSampleRateConverterComplexity_MinimumPhase == 'minp');
CHECK(kConverterPrimeMethod_Pre == 0 && kConverterPrimeMethod_None == 2);
CHECK(kAudioEncoderComponentType == 'aenc' && kAudioDecoderComponentType == 'adec');
CHECK(kAppleSoftwareAudioCodecManufacturer == 'appl' && kAudioCodecBadDataError == 'bada');
CHECK(kAudioFormatUnspecifiedError == 'what' && kAudioFormatUnsupportedPropertyError == 'prop');
CHECK(kAudioFormatBadPropertySizeError == '!siz' && kAudioFormatBadSpecifierSizeError == '!spc');
CHECK(kAudioFormatUnsupportedDataFormatError == 'fmt?' && kAudioFormatUnknownFormatError == '!fmt');
CHECK(kAudioFormatProperty_FormatInfo == 'fmti' && kAudioFormatProperty_FormatName == 'fnam');
CHECK(kAudioFormatProperty_EncodeFormatIDs == 'acof');
CHECK(kAudioFormatProperty_DecodeFormatIDs == 'acif');
CHECK(kAudioFormatProperty_FormatList == 'flst' && kAudioFormatProperty_ASBDFromESDS == 'essd');
CHECK(kAudioFormatProperty_ChannelLayoutFromESDS == 'escl');
CHECK(kAudioFormatProperty_FirstPlayableFormatFromList == 'fpfl');
CHECK(kAudioFormatProperty_FormatIsVBR == 'fvbr');
CHECK(kAudioFormatProperty_FormatIsExternallyFramed == 'fexf');
CHECK(kAudioFormatProperty_Encoders == 'aven' && kAudioFormatProperty_Decoders == 'avde');
CHECK(kAudioFormatProperty_AvailableEncodeBitRates == 'aebr');
CHECK(kAudioFormatProperty_AvailableEncodeSampleRates == 'aesr');
CHECK(kAudioFormatProperty_MatrixMixMap == 'mmap' && kAudioFormatProperty_ChannelMap == 'chmp');
CHECK(kAudioFormatProperty_NumberOfChannelsForLayout == 'nchm');
CHECK(kAudioFormatProperty_OutputFormatList == 'ofls' &&
      kAudioFormatProperty_ChannelLayoutHash == 'chha');
CHECK(kAudioFormatProperty_AvailableEncodeChannelLayoutTags == 'aecl');
CHECK(kAudioFormatProperty_HardwareCodecCapabilities == 'hwcc');
CHECK(kAudioFormatProperty_ValidateChannelLayout == 'vacl');
CHECK(kAudioFormatProperty_ChannelLayoutForTag == 'cmpl');
CHECK(kAudioFormatProperty_TagForChannelLayout == 'cmpt');
CHECK(kAudioFormatProperty_ChannelLayoutForBitmap == 'cmpb');
CHECK(kAudioFormatProperty_ChannelLayoutName == 'lonm' &&
      kAudioFormatProperty_ChannelName == 'cnam');
CHECK(kAudioFormatProperty_TagsForNumberOfChannels == 'tagc');

CHECK(kExtAudioFileError_InvalidProperty == -66561 && kExtAudioFileError_InvalidSeek == -66568);
CHECK(kExtAudioFileError_InvalidPropertySize == -66562);
CHECK(kExtAudioFileError_NonPCMClientFormat == -66563);
CHECK(kExtAudioFileError_InvalidChannelMap == -66564);
CHECK(kExtAudioFileError_InvalidOperationOrder == -66565);
CHECK(kExtAudioFileError_InvalidDataFormat == -66566);
CHECK(kExtAudioFileError_MaxPacketSizeUnknown == -66567);
CHECK(kExtAudioFileError_AsyncWriteTooLarge == -66569);
CHECK(kExtAudioFileError_AsyncWriteBufferOverflow == -66570);
CHECK(kExtAudioFileProperty_FileDataFormat == 'ffmt' &&
      kExtAudioFileProperty_FileChannelLayout == 'fclo');
CHECK(kExtAudioFileProperty_ClientDataFormat == 'cfmt' &&
      kExtAudioFileProperty_ClientChannelLayout == 'cclo');
CHECK(kExtAudioFileProperty_CodecManufacturer == 'cman' &&
      kExtAudioFileProperty_AudioConverter == 'acnv');
CHECK(kExtAudioFileProperty_AudioFile == 'afil' &&
      kExtAudioFileProperty_FileMaxPacketSize == 'fmps');
CHECK(kExtAudioFileProperty_ClientMaxPacketSize == 'cmps');
CHECK(kExtAudioFileProperty_FileLengthFrames == '#frm');
CHECK(kExtAudioFileProperty_ConverterConfig == 'accf');
CHECK(kExtAudioFileProperty_IOBufferSizeBytes == 'iobs' &&
      kExtAudioFileProperty_PacketTable == 'xpti');
CHECK(kAudioFileStreamPropertyFlag_PropertyIsCached == 1);
CHECK(kAudioFileStreamPropertyFlag_CacheProperty == 2);
CHECK(kAudioFileStreamParseFlag_Discontinuity == 1 &&
      kAudioFileStreamSeekFlag_OffsetIsEstimated == 1);
CHECK(kAudioFileStreamError_UnsupportedFileType == 'typ?');
CHECK(kAudioFileStreamError_UnsupportedDataFormat == 'fmt?');
CHECK(kAudioFileStreamError_UnsupportedProperty == 'pty?');
CHECK(kAudioFileStreamError_BadPropertySize == '!siz' &&
      kAudioFileStreamError_NotOptimized == 'optm');
CHECK(kAudioFileStreamError_InvalidPacketOffset == 'pck?');
CHECK(kAudioFileStreamError_InvalidFile == 'dta?' && kAudioFileStreamError_ValueUnknown == 'unk?');
CHECK(kAudioFileStreamError_DataUnavailable == 'more');
CHECK(kAudioFileStreamError_IllegalOperation == 'nope');
CHECK(kAudioFileStreamError_UnspecifiedError == 0x7768743F);
CHECK(kAudioFileStreamError_DiscontinuityCantRecover == 'dsc!');
CHECK(kAudioFileStreamProperty_ReadyToProducePackets == 'redy');
CHECK(kAudioFileStreamProperty_FileFormat == 'ffmt' &&
      kAudioFileStreamProperty_DataFormat == 'dfmt');
CHECK(kAudioFileStreamProperty_FormatList == 'flst');
CHECK(kAudioFileStreamProperty_MagicCookieData == 'mgic');
CHECK(kAudioFileStreamProperty_AudioDataByteCount == 'bcnt');
CHECK(kAudioFileStreamProperty_AudioDataPacketCount == 'pcnt');
CHECK(kAudioFileStreamProperty_MaximumPacketSize == 'psze');
CHECK(kAudioFileStreamProperty_DataOffset == 'doff');
CHECK(kAudioFileStreamProperty_ChannelLayout == 'cmap');
CHECK(kAudioFileStreamProperty_PacketToFrame == 'pkfr');
CHECK(kAudioFileStreamProperty_FrameToPacket == 'frpk');
CHECK(kAudioFileStreamProperty_PacketToByte == 'pkby');
CHECK(kAudioFileStreamProperty_ByteToPacket == 'bypk');
CHECK(kAudioFileStreamProperty_PacketTableInfo == 'pnfo');
CHECK(kAudioFileStreamProperty_PacketSizeUpperBound == 'pkub');
CHECK(kAudioFileStreamProperty_AverageBytesPerPacket == 'abpp');
CHECK(kAudioFileStreamProperty_BitRate == 'brat' &&
      kAudioFileStreamProperty_InfoDictionary == 'info');
CHECK(sizeof(AudioFileStreamParseFlags) == 4 && sizeof(AudioFileStreamSeekFlags) == 4);
CHECK(sizeof(AudioFileStreamPropertyFlags) == 4 && sizeof(AudioFileStreamPropertyID) == 4);

CHECK(kSystemSoundID_UserPreferredAlert == 0x1000 && kUserPreferredAlert == 0x1000);
CHECK(kSystemSoundID_FlashScreen == 0xFFE && kSystemSoundID_Vibrate == 0xFFF);
CHECK(kAudioFileStreamProperty_RestrictsRandomAccess == 'rrap');
CHECK(kAudioServicesNoError == 0 && kAudioServicesUnsupportedPropertyError == 'pty?');
CHECK(kAudioServicesBadPropertySizeError == '!siz');
CHECK(kAudioServicesBadSpecifierSizeError == '!spc');
CHECK(kAudioServicesSystemSoundUnspecifiedError == -1500);
CHECK(kAudioServicesSystemSoundClientTimedOutError == -1501);
CHECK(kAudioServicesSystemSoundExceededMaximumDurationError == -1502);
CHECK(kAudioServicesPropertyIsUISound == 'isui');
CHECK(kAudioServicesPropertyCompletePlaybackIfAppDies == 'ifdi');
CHECK(sizeof(SystemSoundID) == 4 && sizeof(AudioServicesPropertyID) == 4);
