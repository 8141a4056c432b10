// Names that drivers of sound cards give to their ports and controls. Programs compare the data
// source of a device (kAudioDevicePropertyDataSource) with them. A device of this library has none
// of these: its only source is the card's ports.
#ifndef CUEJACK_IOAUDIOTYPES_H
#define CUEJACK_IOAUDIOTYPES_H

#include "../../CuejackBase.h"

CUE_HEADER_BEGIN

// Kinds of ports.
enum {
  kIOAudioPortTypeOutput = 'outp',
  kIOAudioPortTypeInput = 'inpt',
  kIOAudioPortTypeMixer = 'mixr',
  kIOAudioPortTypePassThru = 'pass',
  kIOAudioPortTypeProcessing = 'proc'
};

// Subtypes of ports: the kind of device at the port.
enum {
  kIOAudioOutputPortSubTypeInternalSpeaker = 'ispk',
  kIOAudioOutputPortSubTypeExternalSpeaker = 'espk',
  kIOAudioOutputPortSubTypeHeadphones = 'hdpn',
  kIOAudioOutputPortSubTypeLine = 'line',
  kIOAudioOutputPortSubTypeSPDIF = 'spdf',
  kIOAudioInputPortSubTypeInternalMicrophone = 'imic',
  kIOAudioInputPortSubTypeExternalMicrophone = 'emic',
  kIOAudioInputPortSubTypeCD = 'cd  ',
  kIOAudioInputPortSubTypeLine = 'line',
  kIOAudioInputPortSubTypeSPDIF = 'spdf'
};

// Kinds of controls, and what they control.
enum {
  kIOAudioControlTypeLevel = 'levl',
  kIOAudioControlTypeToggle = 'togl',
  kIOAudioControlTypeSelector = 'slct',
  kIOAudioLevelControlSubTypeVolume = 'vlme',
  kIOAudioToggleControlSubTypeMute = 'mute',
  kIOAudioSelectorControlSubTypeOutput = 'outp',
  kIOAudioSelectorControlSubTypeInput = 'inpt',
  kIOAudioSelectorControlSubTypeClockSource = 'clck',
  kIOAudioControlUsageOutput = 'outp',
  kIOAudioControlUsageInput = 'inpt',
  kIOAudioControlUsagePassThru = 'pass',
  kIOAudioControlUsageCoreAudioProperty = 'prop'
};

// Channels of a control.
enum {
  kIOAudioControlChannelNumberInactive = -1,
  kIOAudioControlChannelIDAll = 0,
  kIOAudioControlChannelIDDefaultLeft = 1,
  kIOAudioControlChannelIDDefaultRight = 2,
  kIOAudioControlChannelIDDefaultCenter = 3,
  kIOAudioControlChannelIDDefaultLeftRear = 4,
  kIOAudioControlChannelIDDefaultRightRear = 5,
  kIOAudioControlChannelIDDefaultSub = 6
};

// Values of a selector control: the source or the destination of sound that it selects.
enum {
  kIOAudioSelectorControlSelectionValueNone = 'none',
  kIOAudioSelectorControlSelectionValueInternalSpeaker = 'ispk',
  kIOAudioSelectorControlSelectionValueExternalSpeaker = 'espk',
  kIOAudioSelectorControlSelectionValueHeadphones = 'hdpn',
  kIOAudioSelectorControlSelectionValueInternalMicrophone = 'imic',
  kIOAudioSelectorControlSelectionValueExternalMicrophone = 'emic',
  kIOAudioSelectorControlSelectionValueCD = 'cd  ',
  kIOAudioSelectorControlSelectionValueLine = 'line',
  kIOAudioSelectorControlSelectionValueSPDIF = 'spdf'
};

CUE_HEADER_END

#endif
