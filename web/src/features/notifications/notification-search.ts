/** Search parameters of a page that lists notification configurations: `notification` is the open one, `delivery` that of its log. */
export const NOTIFICATION_SEARCH = {
  notification: 'text',
  new: 'flag',
  edit: 'flag',
  status: 'text',
  delivery: 'text',
  page: 'number',
} as const
