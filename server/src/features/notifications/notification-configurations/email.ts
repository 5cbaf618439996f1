import type { Mail } from '../../../mail/mail.ts'
import { type Content, partsOf } from './content.ts'

/** The page on which users choose the e-mails that they receive. */
export function settingsUrl(baseUrl: string) {
  return `${baseUrl}/app/settings/notifications`
}

/** The mail of a notification, without its recipients. */
export function notificationMail(baseUrl: string, content: Content): Omit<Mail, 'to'> {
  const { title, place, subject, details, failure, link } = partsOf(baseUrl, content)
  const texts = [subject, failure, details.join(', ')].filter((text) => text !== undefined && text !== '')
  const cause = content.configuration
    ? `You get this e-mail from the notification configuration ${content.configuration.name}.`
    : 'You get this e-mail because you started the run.'
  return {
    subject: `${title}: ${place}`,
    text: [`${title} in ${place}.`, ...texts].join('\n\n'),
    ...(link && { link }),
    settings: { text: `${cause} Choose your e-mails:`, url: settingsUrl(baseUrl) },
  }
}
