import { type Content, partsOf } from './content.ts'

/** An Adaptive Card in the message that the workflows of Microsoft Teams take. Texts are text runs, in which Markdown has no effect. */
export function teamsMessage(baseUrl: string, content: Content) {
  const { title, place, subject, details, failure, link } = partsOf(baseUrl, content)
  const body = [
    textBlock({ text: title, size: 'Medium', weight: 'Bolder' }),
    textBlock({ text: place, isSubtle: true }),
    ...(subject === undefined || subject === '' ? [] : [textBlock({ text: subject })]),
    ...(failure === undefined ? [] : [textBlock({ text: failure, color: 'Attention' })]),
    ...(details.length === 0 ? [] : [textBlock({ text: details.join(' · '), isSubtle: true })]),
  ]
  const card = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    // For the notification of a device, and where cards are not shown.
    fallbackText: `${title}: ${place}`,
    msteams: { width: 'Full' },
    body,
    actions: link ? [{ type: 'Action.OpenUrl', title: link.label, url: link.url }] : [],
  }
  return {
    type: 'message',
    attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content: card }],
  }
}

type Run = { text: string; size?: string; weight?: string; isSubtle?: boolean; color?: string }

function textBlock(run: Run) {
  return { type: 'RichTextBlock', inlines: [{ type: 'TextRun', ...run }] }
}
