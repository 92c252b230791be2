export const kingfisher: { level: number } = { level: 1.42 };
