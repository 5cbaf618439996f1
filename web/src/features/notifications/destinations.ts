import type { DestinationType } from '@groundstate/contract/notification-configurations'
import { Hash, type LucideIcon, Mail, UsersRound, Webhook } from 'lucide-react'

type Destination = {
  text: string
  about: string
  icon: LucideIcon
  /** Undefined without a URL. */
  url?: { label: string; placeholder: string; hint: string }
}

/** The destinations of notifications, in the order of the form. */
export const DESTINATIONS = {
  slack: {
    text: 'Slack',
    about: 'A message in a channel.',
    icon: Hash,
    url: {
      label: 'Webhook URL',
      placeholder: 'https://hooks.slack.com/services/…',
      hint: 'The address of an incoming webhook, which has its channel.',
    },
  },
  'microsoft-teams': {
    text: 'Microsoft Teams',
    about: 'A card in a chat or channel.',
    icon: UsersRound,
    url: {
      label: 'Workflow URL',
      placeholder: 'https://….logic.azure.com/workflows/…',
      hint: 'The address of a workflow that posts webhook requests to a chat or channel.',
    },
  },
  email: {
    text: 'Email',
    about: 'A mail to selected people.',
    icon: Mail,
  },
  generic: {
    text: 'Webhook',
    about: 'A request to your own service.',
    icon: Webhook,
    url: {
      label: 'URL',
      placeholder: 'https://events.example.com/terraform',
      hint: 'Receives a POST request for each event, and responds with a status below 300.',
    },
  },
} as const satisfies Record<DestinationType, Destination>

export const DESTINATION_TYPES = Object.keys(DESTINATIONS) as DestinationType[]
