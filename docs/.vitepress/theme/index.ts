/** VitePress's own theme without its web fonts, with our colour and tables that use the page's width. */
import theme from 'vitepress/theme-without-fonts';
import './style.css';

export default theme;
