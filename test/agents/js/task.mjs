/** The question that all agents are asked, and their one tool. */
export const SYSTEM = 'Answer with the tool.';
export const QUESTION = 'How is the weather in Zürich?';
export const NAME = 'get_weather';
export const DESCRIPTION = 'The weather of a city in n days';
export const PARAMETERS = {
  type: 'object',
  properties: {
    city: { type: 'string', description: 'Its name' },
    n: { type: 'number', description: 'Days' },
  },
  required: ['city', 'n'],
  additionalProperties: false,
};

export function getWeather({ city, n }) {
  return `${city} in ${n} days: 21 °C`;
}
